"""Varlink interface files as Python data, and the limits of schema/limits.def."""
import pathlib
import re

SCHEMA = pathlib.Path(__file__).resolve().parent.parent.parent / "schema"
WORDS = re.compile(r"#[^\n]*|\s+|(->|\[string\]|\[\]|[A-Za-z_][\w.-]*|[():,?])")


class Type:
    """kind: bool, int, float, string, object, enum, struct, array, map, named."""

    def __init__(self, kind, nullable=False, element=None, names=None, name=None):
        self.kind, self.nullable, self.element = kind, nullable, element
        self.names, self.name = names, name


class Interface:
    """methods: name to (parameters, result); types and errors: name to Type."""

    def __init__(self, text):
        self.words = [word for word in WORDS.findall(text) if word]
        self.types, self.methods, self.errors = {}, {}, {}
        self._expect("interface")
        self.name = self._take()
        while self.words:
            keyword, name = self._take(), self._take()
            if keyword == "method":
                parameters = self._type(name)
                self._expect("->")
                self.methods[name] = parameters, self._type(name)
            else:
                {"type": self.types, "error": self.errors}[keyword][name] = self._type(name)

    def _take(self):
        return self.words.pop(0)

    def _expect(self, word):
        found = self._take()
        assert found == word, (word, found, self.words[:8])

    def _type(self, owner=None):
        nullable = self.words[0] == "?" and bool(self._take())
        word = self._take()
        if word in ("[]", "[string]"):
            return Type("array" if word == "[]" else "map", nullable, self._type())
        if word == "(":
            return self._fields(nullable, owner)
        if word in ("bool", "int", "float", "string", "object"):
            return Type(word, nullable)
        return Type("named", nullable, name=word)

    def _fields(self, nullable, owner):
        fields, values = {}, []
        while self.words[0] != ")":
            name = self._take()
            if self.words[0] == ":":
                self._take()
                fields[name] = self._type()
            else:
                values.append(name)
            if self.words[0] == ",":
                self._take()
        self._take()
        return Type("enum", nullable, names=values) if values else Type("struct", nullable,
                                                                        names=fields, name=owner)

    def resolve(self, type_):
        """The type that a name stands for; the type itself otherwise."""
        return self.types[type_.name] if type_.kind == "named" else type_

    def mismatch(self, type_, value, at=""):
        """Path of a value that differs from the declared type, or None."""
        if value is None:
            return None if type_.nullable else f"{at}: null"
        type_ = self.resolve(type_)
        kind = type_.kind
        if kind == "struct":
            return self._mismatch_struct(type_, value, at)
        if kind in ("array", "map"):
            if not isinstance(value, list if kind == "array" else dict):
                return f"{at}: no {kind}"
            items = enumerate(value) if kind == "array" else value.items()
            return next(filter(None, (self.mismatch(type_.element, item, f"{at}.{key}")
                                      for key, item in items)), None)
        good = {"bool": lambda: isinstance(value, bool), "object": lambda: isinstance(value, dict),
                "int": lambda: isinstance(value, int) and not isinstance(value, bool),
                "float": lambda: isinstance(value, (int, float)) and not isinstance(value, bool),
                "string": lambda: isinstance(value, str),
                "enum": lambda: value in type_.names}[kind]
        return None if good() else f"{at}: {value!r:.60} is no {kind}"

    def _mismatch_struct(self, type_, value, at):
        if not isinstance(value, dict):
            return f"{at}: no object"
        if unknown := set(value) - set(type_.names):
            return f"{at}: {unknown} is not declared"
        return next(filter(None, (self.mismatch(field, value.get(name), f"{at}.{name}")
                                  for name, field in type_.names.items())), None)


def files():
    """Name to text of each interface file."""
    return {path.name.removesuffix(".varlink"): path.read_text()
            for path in sorted(SCHEMA.glob("*.varlink"))}


def limits():
    """("io.berth.Placement.Bind", "tasks") to (unit, least, most)."""
    found = {}
    row = re.compile(r'^X\((\w+), (ITEMS|BYTES|VALUE), (\d+), (\d+), "([^"]+)"\)$', re.M)
    for _, unit, least, most, parameters in row.findall((SCHEMA / "limits.def").read_text()):
        for part in parameters.split("; "):
            owner, names = part.split(": ")
            for name in names.split():
                assert (owner, name) not in found, (owner, name)
                found[owner, name] = unit, int(least), int(most)
    return found
