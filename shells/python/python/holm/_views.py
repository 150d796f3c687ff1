"""The views that `keys()`, `values()` and `items()` return: those of `collections.abc`, whose loops are over ranges."""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any, Iterator, Tuple

__all__ = ["Items", "Keys", "Values"]


class Keys(KeysView[bytes]):
    """The keys of a keyspace, in order."""

    __slots__ = ()
    _mapping: Any

    def __iter__(self) -> Iterator[bytes]:
        keys: Iterator[bytes] = iter(self._mapping)
        return keys

    def __reversed__(self) -> Iterator[bytes]:
        keys: Iterator[bytes] = reversed(self._mapping)
        return keys


class Values(ValuesView[bytes]):
    """The values of a keyspace, in the order of their keys."""

    __slots__ = ()
    _mapping: Any

    def __iter__(self) -> Iterator[bytes]:
        values: Iterator[bytes] = iter(self._mapping.range().values())
        return values

    def __reversed__(self) -> Iterator[bytes]:
        values: Iterator[bytes] = reversed(self._mapping.range().values())
        return values

    def __contains__(self, value: object) -> bool:
        return any(value == other for other in self)


class Items(ItemsView[bytes, bytes]):
    """The pairs of a keyspace, in the order of their keys."""

    __slots__ = ()
    _mapping: Any

    def __iter__(self) -> Iterator[Tuple[bytes, bytes]]:
        return iter(self._mapping.range())

    def __reversed__(self) -> Iterator[Tuple[bytes, bytes]]:
        pairs: Iterator[Tuple[bytes, bytes]] = reversed(self._mapping.range())
        return pairs
