"""The exceptions of Holm. All of them are `HolmError`; some are also what Python programs expect in their place."""

from __future__ import annotations

from typing import Optional


class HolmError(Exception):
    """Whatever Holm raises, apart from `KeyError`, and `TypeError` and `ValueError` for arguments."""


class ClosedError(HolmError):
    """The database was closed, or the transaction, batch, snapshot or feed is over."""


class ForkError(HolmError):
    """The database was opened by the parent of this process: open it anew here, once the parent has closed it."""


class ReadOnlyError(HolmError):
    """A write to a snapshot, to a database that is open for reading, or to a folder that forbids it."""


class LockedError(HolmError):
    """Another process, or another open database of this process, has the folder open."""

    holder: Optional[int] = None
    """The id of the process that holds the lock, where the system reports it."""


class NotFoundError(HolmError, FileNotFoundError):
    """There is no database in the folder, and none shall be created."""


class StorageError(HolmError, OSError):
    """The operating system refused a call."""


class NoSpaceError(HolmError):
    """The disk, a quota or the database's capacity is full. Nothing is lost; repeat the call once there is space."""


class PoisonedError(HolmError):
    """A write or sync failed earlier. Open the database anew."""


class CorruptError(HolmError):
    """Bytes at rest, or of a backup, differ from what was written."""


class FormatError(HolmError):
    """The folder or file is not Holm's, or of another version or design."""


class NotCleanError(HolmError):
    """The database was not closed cleanly, and a read-only open must not repair it. Open it for writing once."""


class UnsupportedError(HolmError):
    """The platform or the file system lacks a feature."""


class TooLargeError(HolmError, ValueError):
    """A key, a value, a name, a batch or a transaction exceeds its limit."""


class InvalidError(HolmError, ValueError):
    """An argument is not valid, or not here."""


class NumberOverflowError(HolmError, OverflowError):
    """A sum does not fit into a number of 64 bits. Nothing has changed."""


class ConflictError(HolmError):
    """Another thread changed what the transaction had read. Nothing has been written: begin it anew."""


class SnapshotEndedError(HolmError):
    """The snapshot has ended, because open snapshots kept more than their limit. Take a new one."""


class WrongBaseError(HolmError):
    """An incremental backup does not continue the state of this database."""


class FeedLaggedError(HolmError):
    """The feed has fallen behind its limit. Open a new one with `snapshot_and_feed`."""


class DroppedError(HolmError):
    """The keyspace has been dropped."""
