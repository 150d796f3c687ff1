"""Change feeds: what each epoch has changed, once it is durable."""

from __future__ import annotations

import threading
from collections import deque
from datetime import datetime
from typing import Deque, Iterator, List, NamedTuple, Optional, Union

from holm import _holm
from holm._aio import in_thread
from holm._closing import Closing
from holm._times import as_datetime


class Drop(NamedTuple):
    """A keyspace is gone with all its pairs."""

    keyspace: str


class Create(NamedTuple):
    """A keyspace is new, and empty but for what the other changes put into it."""

    keyspace: str
    expires: bool


class Remove(NamedTuple):
    """A key is gone."""

    keyspace: str
    key: bytes


class Put(NamedTuple):
    """A key is new, or has another value."""

    keyspace: str
    key: bytes
    value: bytes
    expires: Optional[datetime]
    """When the key expires; `None` for never, and for a time beyond all datetimes."""


Change = Union[Drop, Create, Remove, Put]


class Changes:
    """The net effect of one epoch, in the order in which a replica applies it."""

    __slots__ = ("_changes",)

    def __init__(self, changes: _holm.Changes) -> None:
        self._changes = changes

    @property
    def epoch(self) -> int:
        """The epoch. Epochs rise; one that changed nothing is left out."""
        return self._changes.epoch

    @property
    def mark(self) -> Optional[int]:
        """The mark of the database at the end of the epoch, if the epoch has changed it."""
        return self._changes.mark

    def __len__(self) -> int:
        return len(self._changes)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[Change]:
        return iter(self.to_list())

    def to_list(self) -> List[Change]:
        """The changes: `Drop`, `Create`, `Remove` and `Put`."""
        changes: List[Change] = []
        for kind, *fields in self._changes.tuples():
            if kind == "put":
                keyspace, key, value, seconds = fields
                changes.append(Put(keyspace, key, value, as_datetime(seconds)))
            elif kind == "remove":
                changes.append(Remove(*fields))
            elif kind == "create":
                changes.append(Create(*fields))
            else:
                changes.append(Drop(*fields))
        return changes

    def __repr__(self) -> str:
        return f"<holm.Changes of epoch {self.epoch}: {len(self)}>"


class Feed(_holm.Feed, Closing):
    """The changes of a database, epoch by epoch, each exactly once and in order: `Database.feed`.

    A loop over it waits for changes and never ends by itself; `next` has a timeout. `async for` works, too.

    >>> import holm
    >>> with holm.open("reefs.holm") as db, db.feed() as feed:
    ...     db["north"] = "coral"
    ...     db.sync()
    ...     for changes in feed:
    ...         print([change for change in changes if isinstance(change, holm.Put)])
    ...         break
    [Put(keyspace='default', key=b'north', value=b'coral', expires=None)]
    """

    __slots__ = ("_lock", "_taken")

    def __init__(self, of: object, bytes: int) -> None:
        # What threads have taken for tasks. A task that is cancelled leaves it to the next one.
        self._taken: Deque[Changes] = deque()
        self._lock = threading.Lock()

    def next(self, timeout: Optional[float] = None) -> Optional[Changes]:
        """The changes of the next durable epoch, or `None` after `timeout` seconds without one."""
        if self._taken:
            return self._taken.popleft()
        changes = self._next(timeout)
        return None if changes is None else Changes(changes)

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> Changes:
        changes = self.next()
        assert changes is not None, "it waits without a timeout"
        return changes

    def _take(self) -> None:
        """Waits a while for changes; not long, so that a task that is cancelled leaves its thread soon."""
        with self._lock:
            changes = self._next(0.2)
            if changes is not None:
                self._taken.append(Changes(changes))

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Changes:
        while not self._taken:
            await in_thread(self._take)
        return self._taken.popleft()
