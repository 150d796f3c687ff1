"""Holm: an embedded, ordered key-value store, consistent after any crash.

>>> import holm
>>> with holm.open("reefs.holm") as db:
...     db["north"] = "coral"
...     db["south"] = "sand"
...     print(list(db["a":"o"]))
[(b'north', b'coral')]
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

from holm import _holm
from holm._backup import BackupInfo, repair, restore, verify_backup
from holm._batch import Batch
from holm._codec import Coded, Codec, Json, Msgpack, Pickle, Text
from holm._database import Database, open
from holm._errors import (
    ClosedError,
    ConflictError,
    CorruptError,
    DroppedError,
    FeedLaggedError,
    ForkError,
    FormatError,
    HolmError,
    InvalidError,
    LockedError,
    NoSpaceError,
    NotCleanError,
    NotFoundError,
    NumberOverflowError,
    PoisonedError,
    ReadOnlyError,
    SnapshotEndedError,
    StorageError,
    TooLargeError,
    UnsupportedError,
    WrongBaseError,
)
from holm._feed import Change, Changes, Create, Drop, Feed, Put, Remove
from holm._holm import MAX_KEY, MAX_VALUE, Range, Receipt, __version__
from holm._keyspace import Keyspace, ReadableKeyspace, SnapshotKeyspace
from holm._snapshot import Snapshot
from holm._transaction import Transaction, TransactionKeyspace

__all__ = [
    "MAX_KEY",
    "MAX_VALUE",
    "BackupInfo",
    "Batch",
    "Change",
    "Changes",
    "ClosedError",
    "Coded",
    "Codec",
    "ConflictError",
    "CorruptError",
    "Create",
    "Database",
    "Drop",
    "DroppedError",
    "Feed",
    "FeedLaggedError",
    "ForkError",
    "FormatError",
    "HolmError",
    "InvalidError",
    "Json",
    "Keyspace",
    "LockedError",
    "Msgpack",
    "NoSpaceError",
    "NotCleanError",
    "NotFoundError",
    "NumberOverflowError",
    "Pickle",
    "PoisonedError",
    "Put",
    "Range",
    "ReadOnlyError",
    "ReadableKeyspace",
    "Receipt",
    "Remove",
    "Snapshot",
    "SnapshotEndedError",
    "SnapshotKeyspace",
    "StorageError",
    "Text",
    "TooLargeError",
    "Transaction",
    "TransactionKeyspace",
    "UnsupportedError",
    "WrongBaseError",
    "__version__",
    "open",
    "repair",
    "restore",
    "verify_backup",
]

# The store's threads and locks are the parent's: in the child, every object of a database refuses.
_os.register_at_fork(after_in_child=_holm.after_fork)
# A database that is still open is closed cleanly, so that the next open has nothing to recover.
_atexit.register(_holm.close_all)
