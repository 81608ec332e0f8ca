#!/usr/bin/env python3
"""Writes the modules of the package that follow the interface files and the library's table.

usage: generate.py FOLDER VERSION: _types.py, _sync.py, aio.py, _launchers.py and _version.py there.
"""
import ast
import keyword
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/lib"))
import idl

HEAD = '"""{about} Made by generate.py from {source}: do not edit."""\n'
FUNCTIONS = {"Allocate": "alloc", "Check": "health", "Load": "load_test"}  # others follow a rule
RESULTS = {"GetMatrix": "Matrix"}  # classes with more than the reply's fields
OMITTED = {"Map"}  # hands out file descriptors, which libberth reads
STREAMS = {"Watch", "Record", "Probe", "Load"}  # give each reply, by `more`
SIMPLE = {"bool": ("boolean", "bool"), "int": ("integer", "int"), "float": ("real", "float"),
          "string": ("text", "str"), "enum": ("text", "str")}


def attribute(name):
    return name + "_" if keyword.iskeyword(name) else name


def function(method):
    if method in FUNCTIONS:
        return FUNCTIONS[method]
    return re.sub(r"(?<!^)(?=[A-Z])", "_", re.sub("^(Get|List)", "", method)).lower()


def comments(text):
    """Name to the comment before it."""
    found = re.findall(r"((?:^#.*\n)*)^(?:type|method|error) (\w+)", text, re.M)
    return {name: "\n".join(line[1:].strip() for line in lines.splitlines())
            for lines, name in found}


def docstring(comment, indent):
    lines = comment.replace("\\", "\\\\").strip()
    end = '"""' if "\n" not in lines else '\n"""'
    text = '"""' + (lines or "See the type that has it.") + end
    return textwrap.indent(text, " " * indent) + "\n"


def literal(type_):
    return "Literal[" + ", ".join(f'"{name}"' for name in type_.names) + "]"


class Types:
    """Collects the dataclasses of all interfaces."""

    def __init__(self):
        self.classes, self.done, self.named = [], {}, {}

    def begin(self, interface):
        """Names the structs of an interface. One that differs from another interface's of its name
        has the interface's name before it.
        """
        self.named = {}
        for name, type_ in interface.types.items():
            if type_.kind == "enum":
                self.named[name] = literal(type_)
                continue
            other = self.done.get(name)
            alike = other is None or [row[0] for row in other] == \
                [row[0] for row in self.rows(name, type_)]
            self.named[name] = name if alike else interface.name.rsplit(".", 1)[-1] + name

    def reading(self, type_, owner):
        """Reader and annotation of a type of a reply."""
        if self.named.get(type_.name, "").startswith("Literal["):
            type_ = idl.Type("enum", type_.nullable)
        if type_.kind in SIMPLE:
            reader, name = "_r." + SIMPLE[type_.kind][0], SIMPLE[type_.kind][1]
        elif type_.kind == "object":
            reader, name = "_r.mapping(lambda value: value)", "Dict[str, Any]"
        elif type_.kind == "array":
            inner, name = self.reading(type_.element, owner)
            reader, name = f"_r.array({inner})", f"Tuple[{name}, ...]"
        elif type_.kind == "map":
            inner, name = self.reading(type_.element, owner)
            reader, name = f"_r.mapping({inner})", f"Dict[str, {name}]"
        else:
            name = self.named.get(type_.name, type_.name) if type_.kind == "named" \
                else self.add(owner, type_, "")
            reader = f"_r.struct(lambda: {name})"
        return (f"_r.maybe({reader})", f"Optional[{name}]") if type_.nullable else (reader, name)

    def rows(self, name, type_):
        """Field, reader, annotation and whether it may be null; the fields that may are last."""
        rows = []
        for field, its in type_.names.items():
            camel = "".join(part.title() for part in field.split("_"))
            rows.append((field, *self.reading(its, name + camel), its.nullable))
        return sorted(rows, key=lambda row: row[3])

    def add(self, name, type_, comment):
        """A struct as a class; the same struct of two interfaces is one class."""
        rows = self.rows(name, type_)
        if name in self.done:
            assert self.done[name] == rows, f"two classes {name} would differ"
            return name
        self.done[name] = rows
        lines = [f"\n\n@dataclass(frozen=True)\nclass {name}:\n", docstring(comment, 4), "\n"]
        lines += [f"    {attribute(field)}: {annotation}{' = None' * nullable}\n"
                  for field, _, annotation, nullable in rows]
        lines.append("    FIELDS: ClassVar[_r.Fields] = {\n")
        lines += [f'        "{field}": ("{attribute(field)}", {reader}),\n'
                  for field, reader, _, _ in rows]
        self.classes.append("".join(lines) + "    }\n")
        return name


def argument(type_, named):
    """Annotation of a parameter, without its None."""
    if type_.kind == "named":
        return named[type_.name]
    if type_.kind == "enum":
        return literal(type_)
    if type_.kind == "array":
        return f"Sequence[{argument(type_.element, named)}]"
    if type_.kind == "map":
        return f"Mapping[str, {argument(type_.element, named)}]"
    return {"object": "Mapping[str, Any]"}.get(type_.kind) or SIMPLE[type_.kind][1]


class Method:
    def __init__(self, interface, name, comment, named):
        self.wire, self.name, self.comment = f"{interface.name}.{name}", function(name), comment
        parameters, _ = interface.methods[name]
        self.result = RESULTS.get(name, name + "Reply")
        self.streams = name in STREAMS
        self.parameters = []  # wire name, annotation, default
        for field, its in parameters.names.items():
            annotation, default = argument(its, named), None
            if its.nullable:
                annotation, default = f"Optional[{annotation}]", "None"
            if field == "allowed" or (field == "key" and name == "Bind"):
                annotation, default = annotation.replace("Optional[", "Union[Here, None, "), "HERE"
            self.parameters.append((field, annotation, default))
        self.parameters.sort(key=lambda row: row[2] is not None)

    def head(self, define, result, indent):
        """One line for each parameter."""
        words = ["self"] if indent else []
        for field, annotation, default in self.parameters:
            if default is not None and "*" not in words:
                words.append("*")
            words.append(f"{attribute(field)}: {annotation}" + (f" = {default}" if default else ""))
        inside = "".join(f"{' ' * (indent + 8)}{word},\n" for word in words)
        inside = f"\n{inside}{' ' * indent}" if words else ""
        return f"{' ' * indent}{define} {self.name}({inside}) -> {result}:\n"

    def names(self):
        return [field for field, _, _ in self.parameters]

    def forwarded(self):
        return ", ".join(attribute(field) if default is None
                         else f"{attribute(field)}={attribute(field)}"
                         for field, _, default in self.parameters)

    def write(self, is_async, indent):
        """A method of the client (indent 4), or a function with a client of its own (indent 0)."""
        wait, define = ("await ", "async def") if is_async else ("", "def")
        kind = "AsyncIterator" if is_async else "Iterator"
        result = f"{kind}[{self.result}]" if self.streams else self.result
        inside = " " * (indent + 4)
        about = self.comment if indent else f"Client.{self.name} over a connection of its own."
        text = self.head(define, result, indent) + docstring(about, indent + 4)
        if not indent:
            enter = "async with" if is_async else "with"
            call = f"client.{self.name}({self.forwarded()})"
            text += f"{inside}{enter} Client() as client:\n"
            if self.streams:
                text += f"{inside}    {'async ' * is_async}for reply in {call}:\n"
                return text + f"{inside}        yield reply\n"
            return text + f"{inside}    return {wait}{call}\n"
        entries = ", ".join(f'"{field}": {attribute(field)}' for field in self.names())
        text += f"{inside}parameters: Dict[str, Any] = {{{entries}}}\n"
        if "allowed" in self.names():
            text += f"{inside}{wait}self._say_here(parameters)\n"
        call = f'"{self.wire}", parameters, {self.result}'
        if self.streams:
            text += f"{inside}{'async ' * is_async}for reply in self._follow({call}):\n"
            return text + f"{inside}    yield reply\n"
        return text + f"{inside}return {wait}self._ask({call})\n"


def write_calls(methods, is_async):
    module, base = (("_aio_connection", "AsyncConnection") if is_async
                    else ("_connection", "Connection"))
    iterator = "AsyncIterator" if is_async else "Iterator"
    about = "The calls as methods and functions" + ", for asyncio" * is_async + "."
    text = HEAD.format(about=about, source="the interface files")
    text += ("from __future__ import annotations\n\n"
             f"from typing import (Any, Dict, {iterator}, Literal, Mapping, Optional, Sequence,\n"
             "                    Union)\n\n"
             f"from ._here import HERE, Here\nfrom .{module} import {base}\n"
             "from ._matrix import Matrix\nfrom ._types import *\n\n\n"
             f"class Client({base}):\n"
             f'    """A connection to the daemon: every method of its interfaces."""\n')
    text += "".join("\n" + method.write(is_async, 4) for method in methods)
    text += "".join("\n\n" + method.write(is_async, 0) for method in methods)
    names = ["Client"] + [method.name for method in methods]
    return text + f"\n\n__all__ = {names!r}\n"


def write_types(types, errors):
    text = HEAD.format(about="Types and errors of the interfaces.", source="the interface files")
    text += ("from __future__ import annotations\n\nfrom dataclasses import dataclass\n"
             "from typing import Any, ClassVar, Dict, Optional, Tuple\n\n"
             "from . import _readers as _r\n"
             "from .errors import DaemonError\n")
    text += "".join(types.classes)
    for name, comment in errors.items():
        text += f"\n\nclass {name}(DaemonError):\n" + docstring(comment, 4)
    text += "\n\nERRORS = {kind.__name__: kind for kind in (" + ", ".join(errors) + ")}\n"
    return text + f"__all__ = {list(types.done) + list(errors)!r}\n"


def write_launchers():
    """The table of client/lib/task/launcher.c, whose rows are braces, texts and NULL."""
    source = (ROOT / "client/lib/task/launcher.c").read_text()
    declared = re.search(r"struct names \{(.*?)\} launchers\[\] = \{(.*?)\n\};", source, re.S)
    fields, rows = (re.sub(r"/\*.*?\*/", "", part, flags=re.S) for part in declared.groups())
    names = re.findall(r"\*(\w+)", fields)
    rows = ast.literal_eval("[" + rows.translate({ord("{"): "[", ord("}"): "]"})
                            .replace("NULL", "None") + "]")
    text = HEAD.format(about="Variables of each launcher.", source="client/lib/task/launcher.c")
    text += ("from typing import List, NamedTuple, Optional\n\n\nclass Launcher(NamedTuple):\n"
             '    """The first of several variables that is a number counts."""\n\n')
    many = {name for name in names if re.search(rf"\*{name}\[", fields)}
    first = names[0]
    text += "".join(f"    {name}: " + ("str\n" if name == first else
                                      "List[str]\n" if name in many else "Optional[str]\n")
                    for name in names)
    text += "\n\nLAUNCHERS = [\n"
    for row in rows:
        assert len(row) == len(names), row
        values = [[one for one in value if one] if name in many else value
                  for name, value in zip(names, row)]
        text += "    Launcher(" + ", ".join(map(repr, values)) + "),\n"
    return text + "]\n"


def main():
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    types, methods, errors = Types(), [], {}
    for text in idl.files().values():
        interface, about = idl.Interface(text), comments(text)
        types.begin(interface)
        for name, type_ in interface.types.items():
            if type_.kind != "struct":
                continue
            types.add(types.named[name], type_, about[name])
        for name in [name for name in interface.methods if name not in OMITTED]:
            types.add(name + "Reply", interface.methods[name][1], f"The answer of {name}.")
            methods.append(Method(interface, name, about[name], types.named))
        errors.update({name: errors.get(name) or about[name] for name in interface.errors})
    for name, text in {"_types": write_types(types, errors),
                       "_sync": write_calls(methods, False),
                       "aio": write_calls(methods, True),
                       "_launchers": write_launchers(),
                       "_version": f'"""The version of the project."""\nVERSION = "{version}"\n',
                       }.items():
        (folder / f"{name}.py").write_text(text)


if __name__ == "__main__":
    main()
