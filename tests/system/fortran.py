"""The Fortran module beside the header and the symbols of the library.

Constants, sizes and offsets are printed by a C and by a Fortran program and are equal. Each function has as many arguments as the header's, of the same kinds.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from berthd import BIN  # noqa: E402
from tap import LeftOut, run_tests  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER, SYMBOLS, MODULE = ROOT / "client/lib/berth.h", ROOT / "client/lib/libberth.sym", BIN.parent / "berth.f90"
# The types of C in that of Fortran, where nothing points to them.
KINDS = {"int": "integer(c_int)", "unsigned": "integer(c_int)", "short": "integer(c_short)", "int64_t": "integer(c_int64_t)", "size_t": "integer(c_size_t)",
         "double": "real(c_double)", "uint64_t": "integer(c_int64_t)"}


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def header():
    """The header without comments and directives, its functions marked."""
    return re.sub(r"\s+", " ", run("cc", "-E", "-P", "-DBERTH_PUBLIC=PUBLIC", "-x", "c", "-", input=HEADER.read_text().replace("#define BERTH_PUBLIC", "#define UNUSED")))


def structures(text):
    """Structure to its members, in order."""
    found = {}
    for name, body in re.findall(r"\bstruct (berth_\w+) \{ (.*?) \};", text):
        found[name] = [re.search(r"\w+$", part.strip())[0] for line in body.split(";") if line.strip() for part in line.split(",")]
    return found


def kind_of(declaration, types):
    """What Fortran passes for an argument or a result of C: its type, and by value or not."""
    plain = re.sub(r"\bconst\b", "", declaration).strip()
    base, stars, name = re.fullmatch(r"((?:struct |enum )?\w+) *((?:\* *)*)(\w*)", plain).groups()
    count = stars.count("*")
    if base.endswith("_fn"):
        return "type(c_funptr)", "value"
    if count == 0:
        return f"type({types[base]})" if base in types else KINDS["int" if base.startswith("enum ") else base], "value"
    if name == "request":
        return f"type({types[base]})", "reference"
    if name.startswith("ret_") and (count == 2 or base != "void") and "const" not in declaration:
        inside = KINDS.get("int" if base.startswith("enum ") else base)
        return "type(c_ptr)" if count == 2 else inside or f"type({types[base]})", "reference"
    return "type(c_ptr)", "value"


def functions_of_c(text):
    """Function to (its result, its arguments), as Fortran has to have them."""
    types = {f"struct {name}": name for name in structures(text)}
    found = {}
    for result, name, arguments in re.findall(r"PUBLIC ([^;(]*?\*?) ?(berth_\w+)\(([^;]*?)\) ?;", text):
        parts = [] if arguments.strip() == "void" else arguments.split(",")
        kind = None if result.strip() == "void" else kind_of(result + " its", types)[0]
        found[name] = kind, [kind_of(part.strip(), types) for part in parts]
    return found


def functions_of_fortran(text):
    found = {}
    text = re.sub(r"&\s*\n\s*", " ", text)
    for what, name, arguments, body in re.findall(r"^ +(subroutine|function) (berth_\w+)\(([^)]*)\) +bind\(c\)(.*?)end (?:subroutine|function)", text, re.M | re.S):
        declared = {}
        for kind, how, its in re.findall(r"^ +([a-z]+\(\w+\))(, value|, intent\(\w+\))? :: (\w+)$", body, re.M):
            declared[its] = kind, "value" if how == ", value" else "reference"
        result = declared.pop("its")[0] if what == "function" else None
        names = [argument.strip() for argument in arguments.split(",") if argument.strip()]
        assert set(names) == set(declared), (name, names, declared)
        found[name] = result, [declared[argument] for argument in names]
    return found


def constants(text):
    return re.findall(r"\bBERTH_[A-Z0-9_]+\b", "".join(re.findall(r"\benum \w+ \{(.*?)\}", text)))


def layout_in_c(folder, text):
    lines = [f'printf("{name} %d\\n", (int){name});' for name in constants(text)]
    for name, members in structures(text).items():
        lines += [f'printf("{name} %zu\\n", sizeof(struct {name}));']
        lines += [f'printf("{name} {member} %zu, %zu\\n", offsetof(struct {name}, {member}), sizeof((struct {name} *)0)->{member});' for member in members]
    (folder / "layout.c").write_text('#include <berth.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n' + "\n".join(lines) + "\nreturn 0;\n}\n")
    run("cc", "-std=c17", f"-I{HEADER.parent}", "-o", folder / "in_c", folder / "layout.c")
    return run(folder / "in_c").splitlines()


def layout_in_fortran(folder, text, module):
    """The members are those of the header: one that the module lacks does not compile."""
    names = structures(text)
    declared = [f"type({name}), target :: {name[6:]}_" for name in names]
    lines = [f'print "(a, i0)", "{name} ", {name}' for name in constants(text)]
    for name, members in names.items():
        lines.append(f'print "(a, i0)", "{name} ", c_sizeof({name[6:]}_)')
        for member in members:
            its = f"{name[6:]}_%{member}"
            lines.append(f'print "(a, i0, a, i0)", "{name} {member} ", &\n    transfer(c_loc({its}), 0_c_intptr_t) - &\n    transfer(c_loc({name[6:]}_), 0_c_intptr_t), ", ", &\n    c_sizeof({its})')
    (folder / "berth.f90").write_text(module)
    (folder / "layout.f90").write_text("program layout\nuse berth\nimplicit none\n" + "\n".join(declared + lines) + "\nend program\n")
    run("gfortran", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-c-binding-type", f"-J{folder}", "-c", "-o", folder / "berth.o", folder / "berth.f90")
    run("gfortran", "-O0", f"-J{folder}", "-o", folder / "in_fortran", folder / "layout.f90", folder / "berth.o", f"-L{BIN.parent / 'lib'}", "-lberth",
        f"-Wl,-rpath,{BIN.parent / 'lib'}", "-Wl,--unresolved-symbols=ignore-all")
    return run(folder / "in_fortran").splitlines()


def compiler():
    if shutil.which("gfortran") is None:
        raise LeftOut("there is no gfortran")
    if "san-" in str(BIN):
        raise LeftOut("the library of this build needs its sanitizer's runtime")


def constants_sizes_and_offsets_are_equal():
    compiler()
    text = header()
    assert len(structures(text)) > 30 and len(constants(text)) > 100
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        here = layout_in_c(folder, text)
        there = layout_in_fortran(folder, text, MODULE.read_text())
        assert here == there, [pair for pair in zip(here, there) if pair[0] != pair[1]][:10]
        # The comparison sees a member of another size.
        right = "integer(c_int64_t) :: free_bytes = 0\n"
        assert right in MODULE.read_text()
        wrong = layout_in_fortran(folder, text, MODULE.read_text().replace(right, right.replace("int64_t", "short")))
        assert [line for line in here if line not in wrong] == ["berth_memory_option free_bytes " + line.split()[-2] + " 8" for line in here
                                                                if line.startswith("berth_memory_option free_bytes ")], "a short member was not seen"


def members_have_the_kinds_of_the_header():
    """Also where kinds have one size."""
    text, module = header(), MODULE.read_text()
    types = {f"struct {name}": name for name in structures(text)}
    wrong = []
    for name, body in re.findall(r"\bstruct (berth_\w+) \{ (.*?) \};", text):
        wanted = []
        for line in filter(str.strip, body.split(";")):
            first, *more = line.split(",")
            base = re.match(r"\s*((?:const )?(?:struct |enum )?\w+)", first)[1]
            wanted += [(kind_of(part, types)[0], re.search(r"\w+$", part)[0]) for part in (first, *(f"{base} {other}" for other in more))]
        there = re.findall(r"^ +([a-z]+\(\w+\)) :: (\w+)(?: = .*)?$", re.search(rf"^ +type, bind\(c\) :: {name}$(.*?)end type", module, re.M | re.S)[1], re.M)
        wrong += [(name, pair) for pair in zip(wanted, there, strict=True) if pair[0] != pair[1]]
    assert not wrong, wrong[:5]


def functions_have_the_arguments_of_the_header():
    ours, theirs = functions_of_fortran(MODULE.read_text()), functions_of_c(header())
    exported = set(re.findall(r"^ +(berth_\w+);", SYMBOLS.read_text(), re.M))
    assert set(ours) == exported == set(theirs), (set(ours) ^ exported, set(theirs) ^ exported)
    wrong = [(name, ours[name], its) for name, its in theirs.items() if ours[name] != its]
    assert not wrong, wrong[:5]
    assert ours["berth_route"] == ("integer(c_int)", [("type(c_ptr)", "value"), ("type(berth_route_request)", "reference"), ("type(c_ptr)", "reference")])
    assert ours["berth_release"][1][3] == ("integer(c_int)", "reference") and ours["berth_events"] == ("integer(c_short)", [("type(c_ptr)", "value")])
    assert ours["berth_call_async"][1][4][0] == "type(c_funptr)" and ours["berth_new"][1] == []


def a_declaration_without_a_counterpart_is_an_error():
    for wrong in ("struct berth_x { float f; };", "struct berth_x { char text[4]; };", "BERTH_PUBLIC long berth_x(void);", "union berth_x { int a; };"):
        done = subprocess.run(["awk", "-f", ROOT / "client/lib/fortran.awk"], input=wrong, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "no Fortran for" in done.stderr, (wrong, done)


if __name__ == "__main__":
    sys.exit(run_tests([constants_sizes_and_offsets_are_equal, members_have_the_kinds_of_the_header, functions_have_the_arguments_of_the_header, a_declaration_without_a_counterpart_is_an_error]) != 0)
