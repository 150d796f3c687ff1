"""Context managers that close what they are."""

from __future__ import annotations

from types import TracebackType
from typing import Optional, Type, TypeVar

Self = TypeVar("Self")


class Closing:
    """A context manager at whose end the object is closed."""

    __slots__ = ()

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()
