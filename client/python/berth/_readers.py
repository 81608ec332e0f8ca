"""Readers of JSON values: each checks a value and gives it as a field of a dataclass has it.

Fields that a class does not have are ignored: newer daemons have more.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar

from .errors import BadReply

T = TypeVar("T")
Reader = Callable[[object], T]
Fields = Mapping[str, Tuple[str, Reader[Any]]]  # by wire name: attribute and reader
INTEGER_MOST = (1 << 63) - 1


class Wrong(Exception):
    """A value of the wrong type; at is its path, inner parts first."""

    def __init__(self, wanted: str):
        super().__init__(wanted)
        self.at: Tuple[str, ...] = ()

    def inside(self, part: str) -> Wrong:
        self.at += (part,)
        return self


def boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise Wrong("bool")
    return value


def integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or \
            not -INTEGER_MOST - 1 <= value <= INTEGER_MOST:
        raise Wrong("int")
    return value


def real(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Wrong("float")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Wrong("float")
    return number


def text(value: object) -> str:
    if not isinstance(value, str):
        raise Wrong("string")
    return value


def maybe(reader: Reader[T]) -> Reader[Optional[T]]:
    return lambda value: None if value is None else reader(value)


def array(reader: Reader[T]) -> Reader[Tuple[T, ...]]:
    def read(value: object) -> Tuple[T, ...]:
        if not isinstance(value, list):
            raise Wrong("array")
        items = []
        for i, item in enumerate(value):
            try:
                items.append(reader(item))
            except Wrong as error:
                raise error.inside(f"[{i}]")
        return tuple(items)
    return read


def mapping(reader: Reader[T]) -> Reader[Dict[str, T]]:
    def read(value: object) -> Dict[str, T]:
        if not isinstance(value, dict):
            raise Wrong("object")
        items = {}
        for key, item in value.items():
            try:
                items[key] = reader(item)
            except Wrong as error:
                raise error.inside(f".{key}")
        return items
    return read


def struct(find: Callable[[], Type[T]]) -> Reader[T]:
    """find gives the class, which may stand further down in its file."""
    return lambda value: _read_struct(find(), value)


def _read_struct(kind: Type[T], value: object) -> T:
    if not isinstance(value, dict):
        raise Wrong("object")
    fields: Fields = getattr(kind, "FIELDS")
    found = {}
    for name, (attribute, reader) in fields.items():
        try:
            found[attribute] = reader(value.get(name))
        except Wrong as error:
            raise error.inside(f".{name}")
    return kind(**found)


def read(kind: Type[T], parameters: Mapping[str, Any], method: str) -> T:
    """The parameters of a reply as an object of that class."""
    try:
        return _read_struct(kind, parameters)
    except Wrong as error:
        at = "".join(reversed(error.at)).lstrip(".")
        raise BadReply(f"the answer to {method} has no {error} in {at}"[:300]) from None
