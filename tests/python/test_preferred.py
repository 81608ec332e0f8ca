"""docs/examples/preferred_allocation.py against every set of GPUs."""
import importlib.util
import itertools
import pathlib

import berth
import pytest

PATH = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/examples/preferred_allocation.py"
SPEC = importlib.util.spec_from_file_location("preferred_allocation", PATH)
example = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(example)


@pytest.mark.parametrize("must", ([], [0], [7, 2], [0, 1, 5]))
@pytest.mark.parametrize("size", (1, 2, 3, 4, 8))
def test_no_other_set_is_faster(mi250x, must, size):
    with berth.Client(mi250x.socket) as client:
        ids = [place.pci for place in client.node().places if place.kind == "gpu"]
        given = [ids[n] for n in must]
        if size < len(must):
            with pytest.raises(ValueError):
                example.preferred(client, ids, given, size)
            return
        found = example.preferred(client, ids, given, size)
        assert len(found) == size and set(given) <= set(found) <= set(ids) and found == sorted(found, key=ids.index)
        if 1 < size < 8:
            times = {some: example.chosen(client, some, size)[0] for some in itertools.combinations(ids, size) if set(given) <= set(some)}
            assert times[tuple(found)] <= 1.03 * min(times.values()), (found, times)


def test_few_available_and_many_sets(mi250x, monkeypatch):
    with berth.Client(mi250x.socket) as client:
        assert example.preferred(client, ["gpu3", "gpu6"], [], 2) == ["gpu3", "gpu6"]
        with pytest.raises(ValueError):
            example.preferred(client, ["gpu3", "gpu6"], ["gpu3"], 3)
        monkeypatch.setattr(example, "MOST_SETS", 1)
        found = example.preferred(client, [f"gpu{n}" for n in range(8)], ["gpu4"], 4)
        assert len(found) == 4 and "gpu4" in found
