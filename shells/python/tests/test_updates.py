"""Atomic operations on one key, and keys that expire."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta, timezone

import pytest

import holm


def test_compare_and_swap(db: holm.Database) -> None:
    assert db.compare_and_swap("north", None, "coral")
    assert not db.compare_and_swap("north", None, "sand")
    assert not db.compare_and_swap("north", "sand", "kelp")
    assert db.compare_and_swap("north", "coral", "sand") and db["north"] == b"sand"
    assert db.compare_and_swap("north", "sand", None) and "north" not in db


def test_add_swap_pop(db: holm.Database) -> None:
    assert db.add("north", "coral") and not db.add("north", "sand")
    assert db.swap("north", "sand") == b"coral" and db.swap("south", "kelp") is None
    assert db.pop("north") == b"sand" and db.pop("north", "none") == "none"
    assert db.setdefault("east") == b"" and db["east"] == b""


def test_numbers(db: holm.Database) -> None:
    assert db.increment("count") == 1 and db.increment("count", -5) == -4
    assert int.from_bytes(db["count"], "little", signed=True) == -4
    db.increment("most", 2**63 - 1)
    with pytest.raises(holm.NumberOverflowError):
        db.increment("most")
    with pytest.raises(OverflowError):
        db.increment("most", 2**63)
    db["text"] = "seven"
    with pytest.raises(holm.InvalidError):
        db.increment("text")


def test_threads_lose_no_update(db: holm.Database) -> None:
    def add() -> None:
        for _ in range(300):
            db.update_value("count", lambda count: str(int(count or b"0") + 1))
            db.increment("number")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db["count"] == b"1200" and db.increment("number", 0) == 1200


def test_a_function_that_fails_changes_nothing(db: holm.Database) -> None:
    db["north"] = "coral"
    with pytest.raises(ZeroDivisionError):
        db.update_value("north", lambda value: 1 // 0)
    with pytest.raises(TypeError):
        db.update_value("north", lambda value: 7)
    assert db["north"] == b"coral"
    assert db.update_value("north", lambda value: None) is None and "north" not in db


def test_a_function_may_use_the_database_and_close_it(db: holm.Database) -> None:
    def close(value: object) -> str:
        db["within"] = "1"
        db.close()
        return "coral"

    with pytest.raises(holm.ClosedError):
        db.update_value("north", close)
    assert db.closed


def test_expiry(db: holm.Database) -> None:
    tides = db.keyspace("tides", expires=True)
    assert tides.expires and not db.expires and db.keyspace("tides").expires
    tides.put("gone", "1", ttl=0)
    tides.put("hour", "2", ttl=timedelta(hours=1))
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    tides.put("day", "3", until=tomorrow)
    tides.put("second", "4", until=time.time() + 3600)
    tides["ever"] = "5"
    assert list(tides) == [b"day", b"ever", b"hour", b"second"] and "gone" not in tides
    assert tides.expiry("ever") is None
    expiry = tides.expiry("day")
    assert expiry is not None and abs(expiry - tomorrow) < timedelta(milliseconds=2)
    with pytest.raises(KeyError):
        tides.expiry("gone")
    assert tides.expire("ever", ttl=0) and not tides.expire("ever", ttl=1) and "ever" not in tides
    assert tides.persist("day") and tides.expiry("day") is None and tides["day"] == b"3"
    assert not tides.persist("day") and not tides.persist("absent")
    # The sweeper in the background may have been there first.
    assert db.sweep() <= 2 and len(tides) == 3
    with db.batch() as batch:
        batch.put("batch", "6", into=tides, ttl=3600)
    with db.transaction() as tx:
        tx.keyspace(tides).put("tx", "7", ttl=0)
    assert "batch" in tides and "tx" not in tides


def test_a_time_beyond_all_datetimes_is_as_good_as_never(db: holm.Database) -> None:
    """The year 33715 was a `ValueError`, and a feed with such a key gave its epoch to nobody."""
    tides = db.keyspace("tides", expires=True)
    db.sync()
    with db.feed() as feed:
        for number, lifetime in enumerate([1e12, timedelta.max, 1e19]):
            tides.put(f"far {number}", "1", ttl=lifetime)
            assert tides.expiry(f"far {number}") is None and f"far {number}" in tides
        tides.put("near", "2", ttl=3600)
        db.sync()
        changes = [change for epoch in iter(lambda: feed.next(0), None) for change in epoch]
        ends = {change.key: change.expires for change in changes if isinstance(change, holm.Put)}
        assert sorted(ends) == [b"far 0", b"far 1", b"far 2", b"near"]
        assert ends[b"near"] is not None and not any(ends[b"far %d" % number] for number in range(3))


def test_times_that_are_refused(db: holm.Database) -> None:
    tides = db.keyspace("tides", expires=True)
    with pytest.raises(holm.InvalidError):
        db.put("north", "coral", ttl=1)
    with pytest.raises(holm.InvalidError):
        db.expiry("north")
    with pytest.raises(holm.InvalidError):
        tides.put("north", "coral", ttl=-1)
    with pytest.raises(holm.InvalidError):
        tides.put("north", "coral", ttl=float("nan"))
    with pytest.raises(holm.InvalidError):
        tides.put("north", "coral", until=float("nan"))
    with pytest.raises(holm.InvalidError):
        tides.put("north", "coral", ttl=1, until=1)
    with pytest.raises(holm.InvalidError):
        tides.expire("north")
    with pytest.raises(TypeError):
        tides.put("north", "coral", ttl="soon")
    with pytest.raises(holm.InvalidError):
        db.keyspace("default", expires=True)
    assert not tides
