"""Open databases."""

from __future__ import annotations

import functools
import inspect
import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, TypeVar, Union

from holm import _holm
from holm._aio import in_thread, synced
from holm._backup import BackupInfo, Origin, Target, reading, writing
from holm._batch import Batch
from holm._closing import Closing
from holm._feed import Feed
from holm._keyspace import Keyspace
from holm._snapshot import Snapshot
from holm._transaction import Transaction
from holm._types import Path

Result = TypeVar("Result")

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    Arguments = ParamSpec("Arguments")

FEED_BYTES = 64 << 20
"""What a feed holds of changes that were not taken, unless it is asked for another limit."""


def _plain(function: Callable[..., Any]) -> None:
    """Refuses functions whose code runs only after they have returned: the transaction would be over by then."""
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(is_kind(function) for is_kind in kinds):
        raise TypeError("a transaction runs a plain function, not a coroutine or generator: see transact_async")


class Database(Keyspace, _holm.Database, Closing):
    """An open database: `holm.open`. It is its keyspace `default`, too, so `db[key]` needs no name.

    Any number of threads may use it. `close` releases its lock, also while other objects still refer to it; all of
    them raise `ClosedError` from then on. A database that is still open when the interpreter ends is closed then. In
    the child of a fork, every use raises `ForkError`.
    """

    __slots__ = ()

    def keyspace(self, name: str, *, create: bool = True, expires: Optional[bool] = None) -> Keyspace:
        """A keyspace, which is created if it is absent. With `create=False`, a `KeyError` says that it is.

        `expires=True` creates one whose keys may expire. `InvalidError` if it exists otherwise.

        >>> import holm
        >>> with holm.open("reefs.holm") as db:
        ...     tides = db.keyspace("tides", expires=True)
        ...     tides.put("north", "high", ttl=3600)
        ...     tides["south"] = "low"
        ...     print(tides.expiry("north") is not None, tides.expiry("south"))
        True None
        """
        return Keyspace(self, name, create, expires)

    def transaction(self) -> Transaction:
        """Begins a transaction. See `Transaction`; `transact` runs one until it commits."""
        return Transaction(self, self)

    def transact(
        self,
        function: Callable[Concatenate[Transaction, Arguments], Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Calls a function with a transaction, commits, and returns what the function returned.

        The function gets the transaction before the other arguments. It runs again after each conflict, so it should
        have no effect elsewhere that may not be repeated. After some conflicts, other transactions let it commit
        first. An exception ends the transaction: nothing has happened then.

        >>> import holm
        >>> def move(tx, amount):
        ...     ann, bob = int(tx["ann"]), int(tx["bob"])
        ...     if ann < amount:
        ...         raise ValueError("not enough")
        ...     tx["ann"], tx["bob"] = str(ann - amount), str(bob + amount)
        >>> with holm.open("accounts.holm") as db:
        ...     db.update(ann="100", bob="0")
        ...     db.transact(move, 30)
        ...     print(dict(db))
        {b'ann': b'70', b'bob': b'30'}
        """
        _plain(function)
        return _holm.transact(self, lambda lent: function(Transaction(lent, self), *args, **kwargs))

    def transactional(
        self, function: Callable[Concatenate[Transaction, Arguments], Result]
    ) -> Callable[Arguments, Result]:
        """A decorator: each call of the function is a transaction, which it gets before the other arguments.

        >>> import holm
        >>> db = holm.open("counts.holm")
        >>> @db.transactional
        ... def count(tx, name):
        ...     tx[name] = str(int(tx.get(name, b"0")) + 1)
        ...     return tx[name]
        >>> count("reefs"), count("reefs")
        (b'1', b'2')
        >>> db.close()
        """
        _plain(function)

        @functools.wraps(function)
        def transactional(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return self.transact(function, *args, **kwargs)

        return transactional

    async def transact_async(
        self,
        function: Callable[Concatenate[Transaction, Arguments], Result],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """As `transact` in a thread, and returns when the commit survives a power cut."""
        result = await in_thread(lambda: self.transact(function, *args, **kwargs))
        await synced(self)
        return result

    def batch(self) -> Batch:
        """An empty batch, whose writes take effect at one instant: see `Batch`."""
        return Batch(self)

    def snapshot(self, *, within: Union[float, timedelta, None] = None) -> Snapshot:
        """The database as it is now; with `within`, a snapshot of at most that age, which may be shared."""
        if isinstance(within, timedelta):
            within = within.total_seconds()
        return Snapshot(self, within)

    def feed(self, *, bytes: int = FEED_BYTES) -> Feed:
        """The changes from now on: see `Feed`. It holds at most so many bytes of what was not taken."""
        return Feed(self, bytes)

    def snapshot_and_feed(self, *, bytes: int = FEED_BYTES) -> Tuple[Snapshot, Feed]:
        """A snapshot, and the feed of all that changes after it: what a replica begins with."""
        snapshot, feed = self._snapshot_and_feed(bytes)
        return Snapshot(snapshot), Feed(feed, bytes)

    def backup(self, folder: Path) -> BackupInfo:
        """Makes a copy of the database in a folder, as it is at one instant, beside writers."""
        return BackupInfo(*self._backup_folder(os.fsdecode(folder)))

    def backup_to(self, target: Target, since: int = 0) -> BackupInfo:
        """Writes a backup to a binary file, or to a new file at a path: what `holm.restore` reads.

        `since` is the `epoch` of an earlier backup: then it has only what has changed since, and `apply` brings a copy
        from that one to this.
        """
        with writing(target) as file:
            return BackupInfo(*self._backup_stream(file, since))

    def apply(self, origin: Origin) -> BackupInfo:
        """Brings a restored copy to the state of an incremental backup, at once under any crash."""
        with reading(origin) as file:
            return BackupInfo(*self._apply_stream(file))

    async def backup_to_async(self, target: Target, since: int = 0) -> BackupInfo:
        """As `backup_to`, in a thread."""
        return await in_thread(lambda: self.backup_to(target, since))

    def stats(self) -> Dict[str, Any]:
        """Statistics, in groups.

        >>> import holm
        >>> with holm.open("reefs.holm") as db:
        ...     db["north"] = "coral"
        ...     print(db.stats()["records"])
        1
        """
        stats: Dict[str, Any] = json.loads(self._stats_json())
        return stats

    def recovery(self) -> Dict[str, Any]:
        """What the last open recovered, and from where."""
        recovery: Dict[str, Any] = json.loads(self._recovery_json())
        return recovery

    def check(self) -> List[str]:
        """Verifies the whole database while writers wait, and returns its faults: an empty list if it is sound."""
        faults: List[str] = json.loads(self._check_json())["faults"]
        return faults

    def __repr__(self) -> str:
        return f"<holm.Database {str(self.path)!r}{' (closed)' if self.closed else ''}>"


def open(
    path: Path,
    durability: str = "buffered",
    interval: Union[float, timedelta, None] = None,
    *,
    create: bool = True,
    read_only: bool = False,
    private: bool = False,
    capacity: Optional[int] = None,
    log_bytes: Optional[int] = None,
    snapshot_bytes: Optional[int] = None,
    sweep: Optional[float] = None,
    design: Optional[str] = None,
) -> Database:
    """Opens a database, a folder of files, and creates it if it is absent.

    `durability` says what a write survives when it returns. In every mode, the death of the process loses nothing.

    - "buffered": a power cut loses at most the writes of the last `interval` (0.010 seconds by default) and one sync.
    - "strict": a power cut loses nothing. All threads share one sync.
    - "onsync": a power cut loses at most the writes after the last `sync`.

    `create=False` refuses a folder without a database. `read_only` opens one that was closed cleanly, in any number of
    processes. `private` keeps the data in memory of this process in place of a shared mapping. `capacity`, `log_bytes`
    and `snapshot_bytes` are limits in bytes. `sweep` is the pause between two removals of expired keys, in seconds; 0
    leaves them to `Database.sweep`. `design` is how a new database lays its leaves out: "buffered" by default, or
    "clustered" for data larger than memory. An existing one has its own, and `FormatError` refuses another.

    >>> import holm
    >>> with holm.open("reefs.holm", durability="buffered", interval=0.010) as db:
    ...     db["north"] = "coral"
    >>> with holm.open("reefs.holm", read_only=True) as db:
    ...     print(db["north"])
    b'coral'
    """
    if isinstance(interval, timedelta):
        interval = interval.total_seconds()
    options: _holm.Options = {
        "durability": durability,
        "interval": interval,
        "create": create,
        "read_only": read_only,
        "private": private,
        "capacity": capacity,
        "log_bytes": log_bytes,
        "snapshot_bytes": snapshot_bytes,
        "sweep": sweep,
        "design": design,
    }
    return Database(os.fsdecode(path), options)
