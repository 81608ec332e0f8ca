"""The statements of docs/FLEET.md in DuckDB, over drawn nodes: the query finds the slow pair. Prints TAP."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import fleet_nodes as drawn  # noqa: E402
from berthd import BIN  # noqa: E402
from exported import tool  # noqa: E402
from tap import run_tests  # noqa: E402


def duckdb_reads_the_lines():
    tool("npm"), tool("node")
    find, keep = re.findall(r"```sql\n(.*?)```", (HERE.parent.parent / "docs/FLEET.md").read_text(), re.S)
    series = drawn.all_series(400)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(f"{folder}/all.tar", "w") as tar:
            for i in range(20):
                fault = drawn.Fault(0.2, ("gpu1", "gpu3")) if i == 7 else None
                drawn.put_in_tar(tar, f"n{i}", drawn.files(series, f"n{i}", drawn.draw_node(series, i, fault), {"driver": "570.1"}))
        with open(f"{folder}/values.jsonl", "wb") as lines:
            subprocess.run([BIN / "berth", "fleet", "--lines", f"{folder}/all.tar"], stdout=lines, check=True)
        subprocess.run(["npm", "install", "--no-fund", "--no-audit", "--silent", "@duckdb/node-api"], cwd=folder, check=True)
        count = "SELECT count(*) AS lines, count(DISTINCT node) AS nodes, any_value(conditions.driver) AS driver FROM 'values.parquet'"
        done = subprocess.run(["node", HERE / "query.mjs", find, keep, count], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "HOME": folder})
        assert done.returncode == 0, done.stderr
        found, _, (counted,) = map(json.loads, done.stdout.splitlines())
        assert len(found) == 10 and {row["node"] for row in found} == {"n7"}, found
        assert {frozenset((row["from"], row["to"])) for row in found} == {frozenset(("gpu1", "gpu3"))}, found
        assert all(0.7 < row["share"] < 0.85 for row in found), found
        assert (int(counted["lines"]), int(counted["nodes"]), counted["driver"]) == (20 * 400, 20, "570.1"), counted


if __name__ == "__main__":
    sys.exit(run_tests([duckdb_reads_the_lines]) > 0)
