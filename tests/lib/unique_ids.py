"""AMD gpus with unique uuids, like those of real ones."""
import pathlib
import re
import shutil


def with_unique_ids(node, folder):
    """Copies the node to the folder, with a unique id for each gpu.

    This identifies the gpus visible to a task.
    """
    copy = pathlib.Path(shutil.copytree(node, pathlib.Path(folder) / "node"))
    for properties in copy.glob("kfd/topology/nodes/*/properties"):
        text = properties.read_text()
        if re.search(r"^simd_count [1-9]", text, re.M):
            others = re.sub(r"^unique_id .*\n", "", text, flags=re.M)
            unique = 0x1234560000 + int(properties.parent.name)
            properties.write_text(others + f"unique_id {unique}\n")
    return copy
