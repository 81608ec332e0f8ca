"""What llvm-cov exported of the daemon's files: coverage.py CORPORA MESSAGES BOTH prints the share of lines that each reaches, and the functions that none reaches."""
import collections
import json
import pathlib
import sys


def load(path):
    return json.loads(pathlib.Path(path).read_text())["data"][0]


def lines_of(exported):
    return {pathlib.Path(file["filename"]).name: file["summary"]["lines"] for file in exported["files"] if file["filename"].endswith(".c")}


def percent(lines):
    return f"{100 * lines['covered'] / lines['count']:5.1f}" if lines["count"] else "    -"


def main(paths):
    exports = [load(path) for path in paths]
    tables = [lines_of(exported) for exported in exports]
    print("lines  corpora messages  both  file")
    for name in sorted(tables[-1]):
        print(f"{tables[-1][name]['count']:5}  " + "    ".join(percent(table[name]) for table in tables) + f"  {name}")
    print(f"{sum(lines['count'] for lines in tables[-1].values()):5}  " + "    ".join(
        f"{100 * sum(lines['covered'] for lines in table.values()) / sum(lines['count'] for lines in table.values()):5.1f}" for table in tables) + "  all")
    reached = collections.defaultdict(int)
    for function in exports[-1]["functions"]:
        reached[pathlib.Path(function["filenames"][0]).name, function["name"].split(":")[-1]] += function["count"]
    none = collections.defaultdict(list)
    for (file, function), count in sorted(reached.items()):
        if count == 0 and file.endswith(".c"):
            none[file].append(function)
    print(f"\nreached by nothing: {sum(map(len, none.values()))} of {len(reached)} functions")
    for file, functions in none.items():
        every = len(functions) == sum(1 for name, _ in reached if name == file)
        print(f"  {file}: {'all of it' if every else ' '.join(functions)}")


if __name__ == "__main__":
    main(sys.argv[1:])
