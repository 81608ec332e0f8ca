"""Messages made from the interface files.

Sound ones, each with one parameter at or beyond its limits, and random mixtures.
"""
import json

from idl import limits

INT_MIN, INT_MAX = -2**63, 2**63 - 1
INTS = (0, 1, -1, 2, 255, 65536, 2**31 - 1, 2**31, -2**31, 2**32, 2**53, 2**60, 2**60 + 1, 2**62,
        INT_MAX - 1, INT_MAX, INT_MIN, INT_MIN + 1)
TEXTS = ("", " ", "a", "\n", "\x1b[31m", "\x7f", "\u0085", "\u202egpu0", "\u2028", "é" * 40,
         "%s%n%d", "'; DROP TABLE claim; --", "../../etc/passwd", "gpu", "gpu-1", "gpu0 ", "GPU0",
         "gpu" + "9" * 30, "core18446744073709551616", "machine0", "0-4294967295", "0-4095", "4096",
         "0,0,0,1-1", ",", "-", "0-", "7-3", "0x", "all", "none", "\U0001f4a5" * 20)
LENGTHS = (47, 48, 63, 64, 95, 96, 127, 128, 255, 256, 257, 511, 512, 4095, 4096, 65536, 300_000)
# lengths of arrays without a limit of their own
COUNTS = (0, 1, 2, 15, 16, 17, 64, 65, 128, 129, 1000, 5000)
FAR = 8  # times a limit
LONGEST = 600_000  # items or bytes: no message takes two of each
# values of another type
OTHERS = (None, True, False, 0, 1.5, -0.0, 1e308, "", "x", [], [[]], {}, {"a": {}})


class Raw(str):
    """JSON that is sent unchanged."""


class Broken(Raw):
    """Text that is no JSON, or that no parser can keep: the connection is closed."""


RAW_INTS = tuple(Raw(text) for text in ("9223372036854775808", "-9223372036854775809",
                                        "1" + "0" * 400, "1.0", "-0", "1e2", "1e400", "-1e400",
                                        "0.1e-400"))
BROKEN = tuple(Broken(text)
               for text in ('"a\\u0000b"', '"\\u0000"', '"\\ud800"', '"\\udc00x"',
                            '"\\ud83d\\ud83d"', '"\udcff\udcfe"', '"\udcc0\udc80"',
                            '"\udced\udca0\udc80"', "nul", "01", "+1", "NaN", "'x'", "[1,]",
                            '"\t"'))


def encode(value):
    """Returns JSON text, and whether a parser can keep it."""
    if isinstance(value, Raw):
        return str(value), not isinstance(value, Broken)
    if isinstance(value, dict):
        parts = [(json.dumps(key), *encode(item)) for key, item in value.items()]
        return "{" + ",".join(f"{key}:{text}"
                              for key, text, _ in parts) + "}", all(good for *_, good in parts)
    if isinstance(value, list) and any(isinstance(item, (Raw, dict, list)) for item in value):
        memory = {}  # texts of items that occur many times
        parts = [memory.get(id(item)) or memory.setdefault(id(item), encode(item))
                 for item in value]
        return "[" + ",".join(text for text, _ in parts) + "]", all(good for _, good in parts)
    return json.dumps(value), True


def nested(depth):
    return Raw("[" * depth + "]" * depth)


class Maker:
    """Makes values for one node's names; the same seed of random.Random makes the same messages."""

    def __init__(self, interfaces, places, metrics, random):
        self.interfaces, self.random, self.limits = interfaces, random, limits()
        self.places, self.metrics = places, metrics

    def text(self, name):
        pick = self.random.choice
        if name in ("from", "to", "by", "places", "memory", "gpus"):
            ends = [place for place in self.places
                    if place.startswith("gpu" if name == "gpus" else ("gpu", "numa"))]
            return pick(ends if ends and self.random.random() < 0.95 else self.places)
        if name in ("metric", "metrics"):
            return pick(self.metrics)
        return {"cpus": pick(("0", "0-3", "0-127")), "interface": pick(list(self.interfaces)),
                "owner_cgroup": "/", "claim": f"c{self.random.randrange(9)}",
                "key": f"k{self.random.randrange(4)}"}.get(name, "size")

    def number(self, name):
        pick = self.random.choice
        return {"tasks": pick((1, 2, 2, 4, 4, 8, 64)), "ranks": self.random.randrange(4),
                "ttl_s": 2, "world": 4, "bytes": pick((1, 4096, 2**20, 2**30)), "from": 0, "to": 1,
                "owner_pid": 1, "since_s": 0, "at_s": pick((0, 1_790_000_000)),
                "budget_ns": 10**8}.get(name, 1)

    def sound(self, interface, type_, name="", whole=False):
        """A value of the declared type.

        Optional parts are included with whole True, in part with False, not with None.
        """
        if type_.nullable and not whole and (whole is None or self.random.random() < 0.7):
            return None
        return self.given(interface, type_, name, whole)

    def given(self, interface, type_, name="", whole=False):
        """A value of the declared type that is never None."""
        type_ = interface.resolve(type_)
        if type_.kind == "struct":
            value = {key: part for key, field in type_.names.items()
                     if (part := self.sound(interface, field, key, whole)) is not None}
            if "ranks" in value and "tasks" in value:
                value.update(ranks=list(range(value["tasks"])), world=value["tasks"])
            if not whole and "cores" in value and str(value.get("by")).startswith("gpu"):
                del value["cores"]
            return value
        if type_.kind == "array":
            return [self.sound(interface, type_.element, name, whole)
                    for _ in range(self.random.randrange(1, 4))]
        return {"map": lambda: {}, "enum": lambda: self.random.choice(type_.names),
                "string": lambda: self.text(name), "int": lambda: self.number(name),
                "bool": lambda: self.random.random() < 0.5, "float": lambda: 1.5,
                "object": lambda: {}}[type_.kind]()

    def bounds(self, owner, name):
        """The unit of the limit, with both ends, one beyond each, and far beyond; nothing without a
        row.
        """
        unit, least, most = self.limits.get((owner, name), (None, 0, 0))
        return unit, sorted({number if unit == "VALUE" else min(number, LONGEST)
                             for number in (least - 1, least, least + 1, most - 1, most, most + 1,
                                            FAR * most) if number >= 0 or unit == "VALUE"})

    def hostile(self, interface, owner, name, type_):
        """Every test value of a parameter."""
        type_ = interface.resolve(type_)
        unit, ends = self.bounds(owner, name)
        yield from OTHERS
        yield from BROKEN
        yield nested(100)
        if type_.kind in ("int", "float"):
            yield from (*INTS, *RAW_INTS, *ends)
        elif type_.kind in ("string", "enum"):
            yield from (*TEXTS, *("x" * length for length in (*LENGTHS, *ends)),
                        *(type_.names or ()))
            yield from (name + "0" for name in ("core", "pu", "llc", "nic", "package", "switch"))
        elif type_.kind == "array":
            item = self.sound(interface, type_.element, name, True)
            yield from ([item] * count for count in (ends if unit else COUNTS))
            yield from ([item, other] for other in (*OTHERS, *BROKEN[:3]))
        elif type_.kind == "map":
            yield from ({f"{axis}{number}": "1" for number in range(count)}
                        for axis in ("a", "bytes") for count in (ends if unit else COUNTS))
            yield from ({axis: value}
                        for axis in ("", "bytes", "mechanism", "threads", "x" * 300, "\u202e")
                        for value in (*TEXTS[:8], None, 1, "x" * 300))
            yield Broken('{"bytes":"1","bytes":"2"}')

    def positions(self, interface, owner, type_):
        """Every parameter, with the parameters inside: (path, owner of its limit, name, type).

        Arrays are represented by their first item.
        """
        for name, field in type_.names.items():
            yield (name,), owner, name, field
            inner, path = interface.resolve(field), (name,)
            if inner.kind == "array":
                inner, path = interface.resolve(inner.element), (name, 0)
                if inner.kind != "struct":
                    yield path, "", name, inner
            if inner.kind == "struct":
                yield path, "", name, inner
                for below, *rest in self.positions(interface, f"{interface.name}.{inner.name}",
                                                   inner):
                    yield path + below, *rest


def put(tree, path, value):
    """A copy with that value at the path; None where the path does not exist."""
    step, rest = path[0], path[1:]
    if isinstance(tree, dict):
        there = step in tree
    else:
        there = isinstance(tree, list) and isinstance(step, int) and step < len(tree)
    if not there and (rest or not isinstance(tree, dict) or isinstance(step, int)):
        return None
    inner = put(tree[step], rest, value) if rest else value
    if rest and inner is None:
        return None
    copy = tree.copy()
    copy[step] = inner
    return copy


def take(tree, path):
    """Removes the value at the path."""
    for step in path[:-1]:
        tree = tree[step]
    del tree[path[-1]]


def doubled(tree, path):
    """The tree with the last name of the path twice in its object."""
    if len(path) > 1:
        inner = doubled(tree[path[0]], path[1:])
        copy = dict(tree) if isinstance(tree, dict) else list(tree)
        copy[path[0]] = inner
        return copy
    if not isinstance(tree, dict):
        return Broken("[1,]")
    text = json.dumps(path[0]) + ":" + encode(tree[path[0]])[0]
    return Broken("{" + ",".join([*(f"{json.dumps(key)}:{encode(item)[0]}"
                                    for key, item in tree.items()), text]) + "}")


def each_often(values):
    """Each call, short arrays three times: their context decides how far they are read."""
    for value in values:
        yield from [value] * (3 if isinstance(value, list) and 2 < len(value) < 1000 else 1)


def each_alone(maker, skip=()):
    """(call, label) for each method, parameter and value; the other parameters are sound."""
    for interface in maker.interfaces.values():
        for method, (parameters, _) in interface.methods.items():
            name = f"{interface.name}.{method}"
            if name in skip:
                continue
            yield {"method": name, "parameters": maker.sound(interface, parameters)}, name
            for path, owner, last, type_ in maker.positions(interface, name, parameters):
                where = f"{name} {'.'.join(map(str, path))}"
                for value in each_often(maker.hostile(interface, owner, last, type_)):
                    call = maker.sound(interface, parameters, whole=maker.random.random() < 0.2)
                    call = {**call, path[0]: maker.sound(interface, parameters.names[path[0]],
                                                         path[0], True)}
                    if (call := put(call, path, value)) is not None:
                        yield {"method": name, "parameters": call}, where
                whole = maker.sound(interface, parameters, whole=True)
                yield {"method": name, "parameters": doubled(whole, path)}, where + " twice"
                take(whole, path)
                yield {"method": name, "parameters": whole}, where + " missing"
            yield {"method": name,
                   "parameters": {**maker.sound(interface, parameters),
                                  "": 1}}, name + " with one more"


def frames(maker):
    """Calls that are wrong around their parameters, and messages that are no calls."""
    good = "io.berth.Fabric.ListMetrics"
    for value in (*OTHERS, *TEXTS, *RAW_INTS, *BROKEN, "." * 1000, good + "\n", good + ".",
                  "." + good, good[:-1], "x" * 70_000):
        yield {"method": value}, "method"
        yield {"method": good, "parameters": value}, "parameters"
        if value is not True:
            yield {"method": good, "more": value}, "more"
            yield {"method": good, "oneway": value}, "oneway"
        yield {"method": good, "upgrade": value}, "upgrade"
        yield {"method": good, "x": value}, "unknown key"
        yield value if isinstance(value, dict) else Broken(encode(value)[0]), "no call"
    for depth in (10, 2000, 2040):
        yield {"method": good, "parameters": nested(depth)}, "deep"
    for depth in (2049, 100_000, 500_000):
        yield {"method": good, "parameters": Broken(nested(depth))}, "too deep"
    for pairs in (100, 50_000):
        yield {"method": good,
               "parameters": {f"a{number}": 0 for number in range(pairs)}}, "many keys"
    yield Broken('{"method":"%s","method":"%s"}' % (good, good)), "method twice"
    yield Broken('{"method":"%s"' % good), "unfinished"
    yield Broken(""), "empty"


def mixture(maker, skip=()):
    """A call with none to four parameters at random values, for ever."""
    known = [(interface, method) for interface in maker.interfaces.values()
             for method in interface.methods if f"{interface.name}.{method}" not in skip]
    hostile = {}
    weights = [1 + 3 * len(interface.methods[method][0].names) for interface, method in known]
    random = maker.random
    while True:
        interface, method = random.choices(known, weights)[0]
        name, parameters = f"{interface.name}.{method}", interface.methods[method][0]
        call = maker.sound(interface, parameters, whole=random.random() < 0.3)
        places = list(maker.positions(interface, name, parameters))
        for _ in range(random.choice((0, 0, 1, 1, 2, 4)) if places else 0):
            path, owner, last, type_ = random.choice(places)
            if (name, path) not in hostile:
                hostile[name, path] = [value for value in maker.hostile(interface, owner, last,
                                                                        type_)
                                       if not isinstance(value, Broken)]
            if len(path) > 1 and path[0] not in call:
                call[path[0]] = maker.sound(interface, parameters.names[path[0]], path[0], True)
            call = put(call, path, random.choice(hostile[name, path])) or call
        message = {"method": name, "parameters": call}
        if random.random() < 0.03:
            message["oneway"] = True
        if random.random() < 0.05:
            message["more"] = random.choice((False, None))
        yield message, name
