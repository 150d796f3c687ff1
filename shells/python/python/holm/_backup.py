"""Backups: what they hold, and the files that they are written to and read from."""

from __future__ import annotations

import io
import json
import os
from contextlib import contextmanager
from typing import Any, Dict, Iterator, NamedTuple, Union, cast

from holm import _holm
from holm._types import Path, Readable, Writable

Target = Union[Path, Writable]
Origin = Union[Path, Readable]


class BackupInfo(NamedTuple):
    """What a backup holds."""

    base: int
    """The epoch of the backup that this one continues; 0 for a whole backup."""
    epoch: int
    """The epoch up to which it is complete: what `since` of the next one is."""
    keyspaces: int
    records: int
    kept: int
    """The pairs that are not in the stream, because the base has them."""
    size: int
    """The length of the stream, in bytes."""
    uuid: bytes
    """Identifies the database that the backup is of."""


@contextmanager
def writing(target: Target) -> Iterator[Writable]:
    """Opens a new file at a path, and syncs it; other targets are files already."""
    if not isinstance(target, (str, bytes, os.PathLike)):
        yield target
        return
    with io.open(target, "xb", buffering=0) as file:
        yield cast(Writable, file)
        os.fsync(file.fileno())


@contextmanager
def reading(origin: Origin) -> Iterator[Readable]:
    """Opens the file at a path; other origins are files already."""
    if not isinstance(origin, (str, bytes, os.PathLike)):
        yield origin
        return
    with io.open(origin, "rb", buffering=0) as file:
        yield cast(Readable, file)


def restore(origin: Origin, folder: Path) -> BackupInfo:
    """Makes a database of a whole backup, in a folder that is absent or empty.

    The folder gets its name once the database in it is complete and durable. Reads one backup; what follows it in a
    file object is left there, so that `Database.apply` can go on with the next one.

    >>> import holm
    >>> with holm.open("reefs.holm") as db:
    ...     db["north"] = "coral"
    ...     info = db.backup_to("reefs.backup")
    >>> holm.verify_backup("reefs.backup") == holm.restore("reefs.backup", "copy.holm") == info
    True
    >>> with holm.open("copy.holm") as copy:
    ...     print(copy["north"])
    b'coral'
    """
    with reading(origin) as file:
        return BackupInfo(*_holm.restore(file, os.fsdecode(folder)))


def verify_backup(origin: Origin) -> BackupInfo:
    """Reads a backup to its end and verifies all of it. `CorruptError` if anything is damaged or missing."""
    with reading(origin) as file:
        return BackupInfo(*_holm.verify_backup(file))


def repair(damaged: Path, into: Path) -> Dict[str, Any]:
    """Saves what can be believed of a damaged database to a new one, and reports what was kept and lost."""
    report: Dict[str, Any] = json.loads(_holm.repair(os.fsdecode(damaged), os.fsdecode(into)))
    return report
