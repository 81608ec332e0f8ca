"""A metric's values between places, as an array and as a picture."""
from __future__ import annotations

import dataclasses
import importlib
import math
import re
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from ._types import Cell, GetMatrixReply
from .errors import Error


def _module(name: str) -> Optional[Any]:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _places(names: Set[str]) -> Tuple[str, ...]:
    """gpu2 before gpu10: the parts without digits as text, the others as numbers."""
    return tuple(sorted(names, key=lambda name: [int(part) if part.isdecimal() else part for part
                                                 in re.split(r"(\d+)", name)]))


def _names(names: List[str]) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(names))


class Matrix(GetMatrixReply):
    """The cells of a metric. Rows are the places from, columns the places to.

    numpy is used where it is installed; matplotlib is needed for plot alone.
    """

    @property
    def rows(self) -> Tuple[str, ...]:
        return _places({cell.from_ for cell in self.cells})

    @property
    def columns(self) -> Tuple[str, ...]:
        return _places({cell.to for cell in self.cells})

    @property
    def axes(self) -> Dict[str, Tuple[str, ...]]:
        """Values of each axis. A cell that omits one has the default, which is "" here."""
        names = _names([axis for cell in self.cells for axis in cell.axes])
        return {axis: _names([cell.axes.get(axis, "") for cell in self.cells]) for axis in names}

    def where(self, axes: Optional[Mapping[str, str]] = None, **more: str) -> Matrix:
        """The cells with these values of axes, such as where(bytes="1048576")."""
        wanted = {**(axes or {}), **more}
        cells = tuple(cell for cell in self.cells
                      if all(cell.axes.get(axis, "") == value for axis, value in wanted.items()))
        return dataclasses.replace(self, cells=cells)

    def _table(self, field: str) -> List[List[Optional[float]]]:
        """ValueError: several cells have the same places, so axes have to be chosen."""
        seen: Dict[Tuple[str, str], Cell] = {}
        for cell in self.cells:
            if (cell.from_, cell.to) in seen:
                varied = "; ".join(f"{axis} ({', '.join(values)})"
                                   for axis, values in self.axes.items() if len(values) > 1)
                raise ValueError(f"{self.metric} has several values from {cell.from_} to {cell.to}:"
                                 f" choose with where() among {varied}")
            seen[cell.from_, cell.to] = cell
        return [[getattr(seen.get((a, b)), field, None) for b in self.columns] for a in self.rows]

    def array(self, field: str = "value") -> Any:
        """Values, or another number of the cells: low, high.

        An array of numpy with nan where there is none; without numpy lists with None.
        """
        table, numpy = self._table(field), _module("numpy")
        if numpy is None:
            return table
        missing = [[math.nan if value is None else value for value in row] for row in table]
        return numpy.array(missing, dtype=float).reshape(len(self.rows), len(self.columns))

    def plot(self, axes: Any = None) -> Any:
        """Draws a heat map of the values into matplotlib's axes, or new ones, and gives these."""
        pyplot = _module("matplotlib.pyplot")
        if pyplot is None or _module("numpy") is None:
            raise Error("plot() needs matplotlib, which is not here (Debian: python3-matplotlib)")
        values = self.array()
        if axes is None:
            axes = pyplot.subplots()[1]
        image = axes.imshow(values)
        axes.set_xticks(range(len(self.columns)), self.columns, rotation=90)
        axes.set_yticks(range(len(self.rows)), self.rows)
        axes.set_xlabel("to")
        axes.set_ylabel("from")
        axes.set_title(self.metric)
        axes.figure.colorbar(image, ax=axes, label=self.unit)
        return axes
