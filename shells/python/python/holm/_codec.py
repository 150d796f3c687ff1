"""Codecs: keyspaces whose values are objects of Python in place of bytes."""

from __future__ import annotations

import json
import pickle
from collections.abc import MutableMapping
from typing import Any, Generic, Iterator, List, Mapping, Optional, Protocol, Tuple, TypeVar, Union

from holm._keyspace import Keyspace
from holm._transaction import TransactionKeyspace
from holm._types import BytesLike

Value = TypeVar("Value")
Default = TypeVar("Default")


class Codec(Protocol[Value]):
    """What makes bytes of a value and a value of bytes. Any object with these two methods will do."""

    def encode(self, value: Value, /) -> bytes:
        """The bytes that are stored."""
        ...

    def decode(self, data: bytes, /) -> Value:
        """The value of bytes that were stored."""
        ...


class _Json:
    """JSON without spaces, in UTF-8."""

    def encode(self, value: Any, /) -> bytes:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    def decode(self, data: bytes, /) -> Any:
        return json.loads(data)


class _Pickle:
    """Pickle, which runs code of the bytes that it reads: only for databases that nobody else writes."""

    def encode(self, value: Any, /) -> bytes:
        return pickle.dumps(value, protocol=5)

    def decode(self, data: bytes, /) -> Any:
        return pickle.loads(data)


class _Text:
    """`str` as UTF-8."""

    def encode(self, value: str, /) -> bytes:
        return value.encode()

    def decode(self, data: bytes, /) -> str:
        return data.decode()


class _Msgpack:
    """MessagePack: the extra `holm-db[msgpack]` installs its library."""

    def encode(self, value: Any, /) -> bytes:
        import msgpack

        packed: bytes = msgpack.packb(value)
        return packed

    def decode(self, data: bytes, /) -> Any:
        import msgpack

        return msgpack.unpackb(data)


Json: Codec[Any] = _Json()
Pickle: Codec[Any] = _Pickle()
Text: Codec[str] = _Text()
Msgpack: Codec[Any] = _Msgpack()


class Coded(MutableMapping[Any, Value], Generic[Value]):
    """A keyspace, or a transaction's view of one, whose values a codec makes.

    The keyspace itself is `raw`, and has all that is not here. Pickle must be chosen by name, because reading it runs
    the code that its bytes name.

    >>> import holm
    >>> with holm.open("users.holm") as db:
    ...     users = holm.Coded(db.keyspace("users"), holm.Json)
    ...     users["ann"] = {"reefs": ["north", "south"]}
    ...     print(users["ann"]["reefs"], users.raw["ann"])
    ['north', 'south'] b'{"reefs":["north","south"]}'
    """

    __slots__ = ("codec", "raw")

    def __init__(self, keyspace: Union[Keyspace, TransactionKeyspace], codec: Codec[Value]) -> None:
        self.raw = keyspace
        self.codec = codec

    def __getitem__(self, key: BytesLike) -> Value:
        if isinstance(key, slice):
            raise TypeError("a range of a coded keyspace is a loop over pairs(start, stop)")
        return self.codec.decode(self.raw[key])

    def __setitem__(self, key: BytesLike, value: Value) -> None:
        self.raw[key] = self.codec.encode(value)

    def __delitem__(self, key: BytesLike) -> None:
        del self.raw[key]

    def __contains__(self, key: object) -> bool:
        return key in self.raw

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.raw)

    def __reversed__(self) -> Iterator[bytes]:
        return reversed(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __bool__(self) -> bool:
        return bool(self.raw)

    def get(self, key: BytesLike, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        data = self.raw.get(key)
        return default if data is None else self.codec.decode(data)

    def pairs(
        self, start: Optional[BytesLike] = None, stop: Optional[BytesLike] = None, *, reverse: bool = False
    ) -> Iterator[Tuple[bytes, Value]]:
        """The pairs from `start` up to and without `stop`, in order."""
        for key, data in self.raw.range(start, stop, reverse=reverse):
            yield key, self.codec.decode(data)

    def put_many(self, pairs: Mapping[Any, Value]) -> None:
        """Stores the pairs of a mapping."""
        self.raw.update((key, self.codec.encode(value)) for key, value in pairs.items())

    def get_many(self, keys: List[Any], default: Any = None) -> List[Any]:
        """The values of many keys, with `default` for those that are absent."""
        if isinstance(self.raw, TransactionKeyspace):
            return [self.get(key, default) for key in keys]
        return [default if data is None else self.codec.decode(data) for data in self.raw.get_many(keys)]
