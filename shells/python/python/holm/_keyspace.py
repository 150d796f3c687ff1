"""Keyspaces: ordered mappings of bytes to bytes."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from datetime import datetime
from typing import Optional

from holm import _holm
from holm._aio import in_thread, synced
from holm._times import as_datetime
from holm._types import BytesLike, Lifetime, Pairs, Time
from holm._views import Items, Keys, Values


class ReadableKeyspace(_holm.Space, Mapping[bytes, bytes]):
    """A keyspace that is read: of a snapshot, or of a database that is open for reading.

    It is a `Mapping` of `bytes` to `bytes`, in the order of the keys. Keys may be given as `bytes`, as `str`, which
    counts as UTF-8, or as whatever lends its bytes.
    """

    __slots__ = ()

    def keys(self) -> Keys:
        """The keys, in order."""
        return Keys(self)

    def values(self) -> Values:
        """The values, in the order of their keys."""
        return Values(self)

    def items(self) -> Items:
        """The pairs, in the order of their keys."""
        return Items(self)

    def expiry(self, key: BytesLike) -> Optional[datetime]:
        """When a key expires; `None` for never, and for a time beyond all datetimes. `KeyError` if it is absent,
        `InvalidError` if no key here expires."""
        return as_datetime(self._expiry_seconds(key))

    async def get_async(self, key: BytesLike, default: Optional[bytes] = None) -> Optional[bytes]:
        """The value of a key, or `default`, for data that may have to be read from disk: `get` is faster in memory."""
        return await in_thread(lambda: self.get(key, default))

    def __repr__(self) -> str:
        return f"<holm.{type(self).__name__} {self.name!r}>"


class Keyspace(ReadableKeyspace, MutableMapping[bytes, bytes]):
    """A named, ordered mapping of a database: `Database.keyspace`.

    Each operation on one key is atomic, for all threads. Operations that return a value and write one do both at one
    instant. A loop sees each pair that is there throughout exactly once; pairs that come or go meanwhile may be seen
    or not. `Database.snapshot` and transactions see one instant.

    >>> import holm
    >>> with holm.open("reefs.holm") as db:
    ...     reefs = db.keyspace("reefs")
    ...     reefs["north"] = "coral"
    ...     reefs["south"] = b"sand"
    ...     print(reefs["north"], "east" in reefs, len(reefs), list(reefs))
    b'coral' False 2 [b'north', b'south']
    """

    __slots__ = ()

    def update(self, *args: Pairs, **kwargs: BytesLike) -> None:  # type: ignore[override]
        """Stores pairs, as `dict.update` does and as fast as `put_many`.

        >>> import holm
        >>> with holm.open("reefs.holm") as db:
        ...     db.update({"north": "coral"}, south="sand")
        ...     print(list(db.items()))
        [(b'north', b'coral'), (b'south', b'sand')]
        """
        if len(args) > 1:
            raise TypeError(f"update expected at most 1 argument, got {len(args)}")
        for pairs in args:
            self.put_many(pairs)
        if kwargs:
            self.put_many(kwargs)

    async def put_async(
        self, key: BytesLike, value: BytesLike, *, ttl: Optional[Lifetime] = None, until: Optional[Time] = None
    ) -> None:
        """Stores a value, and returns when it survives a power cut."""
        await in_thread(lambda: self.put(key, value, ttl=ttl, until=until))
        await synced(self)

    async def put_many_async(self, pairs: Pairs) -> int:
        """Stores many pairs, and returns when they survive a power cut."""
        count = await in_thread(lambda: self.put_many(pairs))
        await synced(self)
        return count

    async def remove_async(self, key: BytesLike) -> bool:
        """Removes a key, and returns when that survives a power cut."""
        present = await in_thread(lambda: self.remove(key))
        await synced(self)
        return present

    async def sync_async(self) -> None:
        """Returns when every write before the call survives a power cut. All tasks that wait share one sync.

        >>> import asyncio, holm
        >>> async def main():
        ...     with holm.open("reefs.holm") as db:
        ...         db["north"] = "coral"
        ...         await db.sync_async()
        ...         await asyncio.gather(*(db.put_async(f"{n}", "kelp") for n in range(10)))
        ...         return len(db)
        >>> asyncio.run(main())
        11
        """
        await synced(self)


class SnapshotKeyspace(ReadableKeyspace):
    """A keyspace as it was: `Snapshot.keyspace`."""

    __slots__ = ()
