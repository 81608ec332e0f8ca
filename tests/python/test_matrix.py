"""Matrices as arrays and lists, with and without numpy and matplotlib."""
import dataclasses
import math

import berth
import pytest
from berth import _matrix


@pytest.fixture
def copies(mi250x):
    with berth.Client(mi250x.socket) as client:
        metrics = {metric.name: metric.cells for metric in client.metrics().metrics}
        found = client.matrix("gpu_gpu_copy_engine")
        assert len(found.cells) == metrics["gpu_gpu_copy_engine"] > 0
        return found


def one_of_each(matrix):
    """The cells with the axes of the first cell."""
    axes = {axis: matrix.cells[0].axes.get(axis, "") for axis in matrix.axes}
    return matrix.where(axes)


def test_lists_and_arrays(copies, monkeypatch):
    chosen = one_of_each(copies)
    assert chosen.cells and all(cell.axes == chosen.cells[0].axes for cell in chosen.cells)
    by_pair = {(cell.from_, cell.to): cell.value for cell in chosen.cells}
    wanted = [[by_pair.get((a, b)) for b in chosen.columns] for a in chosen.rows]
    with monkeypatch.context() as patch:
        patch.setattr(_matrix, "_module", lambda name: None)
        assert chosen.array() == wanted
        assert all(wanted[n][n] is None for n in range(8))  # a gpu and itself: one order of both
    numpy = pytest.importorskip("numpy")
    array = chosen.array()
    assert isinstance(array, numpy.ndarray) and array.shape == (len(wanted), len(wanted[0]))
    assert [[None if math.isnan(value) else value for value in row] for row in array] == wanted
    assert chosen.array("low").shape == array.shape
    assert chosen.where(bytes="7").array().shape == (0, 0)


def test_axes_have_to_be_chosen(node):
    with berth.Client(node.socket) as client:
        matrix = client.matrix("memory_bandwidth")
    if len(matrix.cells) == len(one_of_each(matrix).cells):
        pytest.skip("this node has one value of each pair")
    with pytest.raises(ValueError, match=r"choose with where\(\) among .*operation \("):
        matrix.array()


def test_places_in_order_of_their_numbers():
    cell = berth.Cell("gpu2", "a10b9", {}, "measured", value=1.0)
    cells = tuple(dataclasses.replace(cell, from_=name, to=f"a{to}")
                  for name, to in (("numa0", "10b1"), ("gpu10", "9b2"), ("gpu9", "10b0")))
    matrix = berth.Matrix("m", "s", cells, berth.Basis("1", "0", "live"))
    assert (matrix.rows, matrix.columns) == (("gpu9", "gpu10", "numa0"), ("a9b2", "a10b0", "a10b1"))


def test_plot_without_matplotlib(copies, monkeypatch):
    monkeypatch.setattr(_matrix, "_module", lambda name: None)
    with pytest.raises(berth.Error, match="needs matplotlib"):
        copies.plot()


def test_plot(copies):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    chosen = one_of_each(copies)
    axes = chosen.plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == list(chosen.columns)
    assert axes.get_title() == copies.metric and axes.images[0].get_array().shape == \
        (len(chosen.rows), len(chosen.columns))
