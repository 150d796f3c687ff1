"""Batches: writes that take effect at one instant."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Optional, Type

from holm import _holm
from holm._aio import in_thread, synced
from holm._types import BytesLike, Lifetime, Time

if TYPE_CHECKING:
    from holm._database import Database
    from holm._keyspace import Keyspace


class Batch(_holm.Batch):
    """Writes to any keyspaces that take effect at one instant, for every reader and after any crash.

    As a context manager, it commits at the end, or forgets all writes after an exception. Without a keyspace, a write
    goes to `default`. A batch has at most 64 MiB.

    >>> import holm
    >>> with holm.open("reefs.holm") as db:
    ...     reefs = db.keyspace("reefs")
    ...     with db.batch() as batch:
    ...         batch["count"] = "2"
    ...         batch.put("north", "coral", into=reefs)
    ...         batch.put("south", "sand", into=reefs)
    ...     print(db["count"], len(reefs))
    b'2' 2
    """

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self,
        key: BytesLike,
        value: BytesLike,
        *,
        into: Optional[Keyspace] = None,
        ttl: Optional[Lifetime] = None,
        until: Optional[Time] = None,
    ) -> None:
        """Adds a write that stores a value. Of two writes to one key, the later one counts."""
        self._put_into(self._database if into is None else into, key, value, ttl, until)

    def remove(self, key: BytesLike, *, of: Optional[Keyspace] = None) -> None:
        """Adds a write that removes a key if it is present."""
        self._remove_from(self._database if of is None else of, key)

    def __setitem__(self, key: BytesLike, value: BytesLike) -> None:
        self.put(key, value)

    def __delitem__(self, key: BytesLike) -> None:
        self.remove(key)

    async def commit_async(self) -> None:
        """Commits, and returns when the writes survive a power cut."""
        await in_thread(self.commit)
        await synced(self._database)

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()
