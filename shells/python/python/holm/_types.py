"""The types that arguments have."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Iterable, Mapping, Protocol, Tuple, Union

BytesLike = Union[bytes, str, bytearray, memoryview]
"""A key or a value. `str` counts as UTF-8."""

Pairs = Union[Mapping[bytes, BytesLike], Mapping[str, BytesLike], Iterable[Tuple[BytesLike, BytesLike]]]
"""Pairs of keys and values."""

Lifetime = Union[float, timedelta]
"""For how long a key lives, in seconds or as a timedelta."""

Time = Union[float, datetime]
"""When a key expires, in seconds since 1970 or as a datetime."""

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
"""A path as the functions of `os` take it."""


class Writable(Protocol):
    """A binary file that is written."""

    def write(self, data: bytes, /) -> object: ...


class Readable(Protocol):
    """A binary file that is read."""

    def read(self, size: int = ..., /) -> bytes: ...
