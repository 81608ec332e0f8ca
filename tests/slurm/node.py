"""The virtual MI250X node with as many cores as a test machine has, one hardware thread a core: node.py FOLDER CORES_PER_LLC. Or another node's first cpus: node.py FOLDER CPUS NODE."""
import pathlib
import re
import shutil
import sys

NODES = pathlib.Path(__file__).resolve().parent.parent / "nodes"
LLCS, CORES = 8, 8  # of the whole MI250X node, cores in each llc


def bits(text):
    """hwloc's masks: words of 32 bits, the highest first; an empty one is 0."""
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return value


def words(value):
    parts = []
    while value or not parts:
        parts.insert(0, f"0x{value & 0xffffffff:08x}")
        value >>= 32
    return ",".join(parts)


def shrink(xml, number):
    """With the cpus that number maps to their new numbers, and nothing of which no cpu is left."""
    def mask(match):
        old = bits(match[2])
        return f'{match[1]}="{words(sum(1 << new for cpu, new in number.items() if old >> cpu & 1))}"'
    lines, inside = [], 0
    for line in xml.splitlines():
        kind = re.search(r'<object type="(PU|Core)" os_index="(\d+)"', line)
        cpus = re.search(r'cpuset="([^"]*)"', line)
        gone = "<object" in line and cpus and not any(bits(cpus[1]) >> cpu & 1 for cpu in number)
        if inside or gone:
            inside += line.count("<object") - line.count("</object>") - line.count("/>") * ("<object" in line)
            continue
        if kind:
            line = line.replace(f'os_index="{kind[2]}"', f'os_index="{number[int(kind[2]) % (LLCS * CORES)]}"', 1)
        lines.append(re.sub(r'\b((?:complete_|allowed_)?cpuset)="([^"]*)"', mask, line))
    return "\n".join(lines) + "\n"


def cut(folder, node, number):
    shutil.copytree(NODES / node, folder, dirs_exist_ok=True)
    path = pathlib.Path(folder) / "topology.xml"
    path.write_text(shrink(path.read_text(), number))
    return folder


def make(folder, cores):
    return cut(folder, "mi250x", {llc * CORES + core: llc * cores + core for llc in range(LLCS) for core in range(cores)})


if __name__ == "__main__":
    if len(sys.argv) > 3:
        cut(sys.argv[1], sys.argv[3], {cpu: cpu for cpu in range(int(sys.argv[2]))})
    else:
        make(sys.argv[1], int(sys.argv[2]))
