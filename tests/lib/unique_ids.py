"""Gpus of a node of AMD's that can be told apart by their uuids, as those of real ones are."""
import pathlib
import re
import shutil


def with_unique_ids(node, folder):
    """A copy of the node, in the folder, each of whose gpus has a unique id: what is visible to a task can then be named whatever else there is."""
    copy = pathlib.Path(shutil.copytree(node, pathlib.Path(folder) / "node"))
    for properties in copy.glob("kfd/topology/nodes/*/properties"):
        text = properties.read_text()
        if re.search(r"^simd_count [1-9]", text, re.M):
            properties.write_text(re.sub(r"^unique_id .*\n", "", text, flags=re.M) + f"unique_id {0x1234560000 + int(properties.parent.name)}\n")
    return copy
