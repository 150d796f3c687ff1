"""Times of expiry as datetimes."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Optional


def as_datetime(seconds: Optional[float]) -> Optional[datetime]:
    """The time so many seconds after 1970. One that no datetime can express is as good as never, which is `None`."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (OSError, OverflowError, ValueError):
        return None
