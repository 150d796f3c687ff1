"""Transactions: reads and writes of any keys that take effect at one instant."""

from __future__ import annotations

from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, Optional, Type

from holm import _holm
from holm._keyspace import Keyspace
from holm._types import BytesLike, Pairs
from holm._views import Items, Keys, Values


class TransactionKeyspace(_holm.TransactionSpace, MutableMapping[bytes, bytes]):
    """A keyspace as a transaction sees it, with the transaction's own writes: `Transaction.keyspace`."""

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

    def setdefault(self, key: BytesLike, default: BytesLike = b"") -> bytes:
        """Returns the value of a key, and stores `default` first if the key is absent."""
        if key not in self:
            self.put(key, default)
        return self[key]

    def update(self, *args: Pairs, **kwargs: BytesLike) -> None:  # type: ignore[override]
        """Stores pairs, as `dict.update` does."""
        if len(args) > 1:
            raise TypeError(f"update expected at most 1 argument, got {len(args)}")
        for given in (*args, kwargs):
            pairs: Any = given
            for key, value in pairs.items() if hasattr(pairs, "items") else pairs:
                self.put(key, value)

    def __repr__(self) -> str:
        return f"<holm.{type(self).__name__} {self.name!r}>"


class Transaction(_holm.Transaction, TransactionKeyspace):
    """Reads and writes of any keys that take effect at one instant, strictly serializable: `Database.transaction`.

    It is a mapping of the keyspace `default`; `keyspace` gives the others. As a context manager it commits at the end,
    and forgets everything after an exception. `ConflictError` says that another thread has changed what it read: then
    nothing has happened, and the whole of it must run again. `Database.transact` and `Database.transactional` do so.

    >>> import holm
    >>> with holm.open("accounts.holm") as db:
    ...     db.update(ann="100", bob="0")
    ...     with db.transaction() as tx:
    ...         tx["bob"] = tx.pop("ann")
    ...     print(dict(db))
    {b'bob': b'100'}
    """

    __slots__ = ()

    def keyspace(self, keyspace: Keyspace) -> TransactionKeyspace:
        """A keyspace of the database, as this transaction sees it."""
        return TransactionKeyspace(self, keyspace)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if kind is None and not self.ended:
            self.commit()
        else:
            self.discard()
