"""Snapshots: the database as it was at one instant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterator, Optional

from holm import _holm
from holm._backup import BackupInfo, Target, writing
from holm._closing import Closing
from holm._keyspace import SnapshotKeyspace

if TYPE_CHECKING:
    from holm._holm import Range


class Snapshot(_holm.Snapshot, Mapping[bytes, bytes], Closing):
    """The database as it was at one instant: `Database.snapshot`. It is a mapping of its keyspace `default`, too.

    Writers do not wait for it. It keeps what has changed since, so close it, or use it as a context manager.

    >>> import holm
    >>> with holm.open("reefs.holm") as db:
    ...     db["north"] = "coral"
    ...     with db.snapshot() as then:
    ...         db["north"] = "sand"
    ...         print(then["north"], db["north"])
    b'coral' b'sand'
    """

    __slots__ = ("_default",)

    def keyspace(self, name: str) -> SnapshotKeyspace:
        """A keyspace as it was. `KeyError` if there was none of that name."""
        return SnapshotKeyspace(self, name)

    def _of_default(self) -> SnapshotKeyspace:
        try:
            return self._default
        except AttributeError:
            self._default: SnapshotKeyspace = self.keyspace("default")
            return self._default

    def __getitem__(self, key: Any) -> Any:
        return self._of_default()[key]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._of_default())

    def __reversed__(self) -> Iterator[bytes]:
        return reversed(self._of_default())

    def __len__(self) -> int:
        return len(self._of_default())

    def __contains__(self, key: object) -> bool:
        return key in self._of_default()

    def range(self, *args: Any, **kwargs: Any) -> Range:
        """As `Keyspace.range`, of the keyspace `default`."""
        return self._of_default().range(*args, **kwargs)

    def prefix(self, *args: Any, **kwargs: Any) -> Range:
        """As `Keyspace.prefix`, of the keyspace `default`."""
        return self._of_default().prefix(*args, **kwargs)

    def backup_to(self, target: Target, since: int = 0) -> BackupInfo:
        """Writes a backup of the snapshot: see `Database.backup_to`."""
        with writing(target) as file:
            return BackupInfo(*self._write_to(file, since))

    def close(self) -> None:
        """Lets the snapshot go, once its keyspaces and iterators are gone as well."""
        if hasattr(self, "_default"):
            del self._default
        super().close()
