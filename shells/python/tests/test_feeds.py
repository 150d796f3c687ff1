"""Change feeds, backups and statistics."""

from __future__ import annotations

import io
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import holm


def drain(feed: holm.Feed) -> None:
    """Takes the rest of the epoch in which the feed began."""
    while feed.next(0) is not None:
        pass


def test_a_feed_gives_each_change_once_and_in_order(db: holm.Database) -> None:
    db.sync()
    with db.feed() as feed:
        drain(feed)
        reefs = db.keyspace("reefs")
        tides = db.keyspace("tides", expires=True)
        reefs["north"] = "coral"
        tides.put("high", "1", ttl=3600)
        db.sync()
        seen = [change for changes in iter(lambda: feed.next(0), None) for change in changes]
        assert seen[:2] == [holm.Create("reefs", False), holm.Create("tides", True)]
        assert holm.Put("reefs", b"north", b"coral", None) in seen
        high = next(change for change in seen if isinstance(change, holm.Put) and change.keyspace == "tides")
        assert high.expires is not None and high.expires.tzinfo is not None
        with db.batch() as batch:
            batch.remove("north", of=reefs)
            batch.set_mark(3)
        db.sync()
        changes = feed.next()
        assert changes is not None and changes.mark == 3 and changes.epoch == feed.since
        assert list(changes) == [holm.Remove("reefs", b"north")] and len(changes) == 1 and changes
        db.drop_keyspace("reefs")
        db.sync()
        changes = feed.next()
        assert changes is not None and list(changes) == [holm.Drop("reefs")]
        assert feed.next(timeout=0) is None
    with pytest.raises(holm.ClosedError, match="feed"):
        feed.next(0)


def test_a_replica(db: holm.Database, folder: Path) -> None:
    db.put_many((b"%d" % n, b"") for n in range(500))
    then, feed = db.snapshot_and_feed()
    with holm.open("copy.holm") as copy:
        copy.put_many(then.items())
        then.close()
        db.put_many((b"%d" % n, b"new") for n in range(400, 600))
        db["0":"2"].remove()
        db.sync()
        for changes in iter(lambda: feed.next(0), None):
            with copy.batch() as batch:
                for change in changes:
                    if isinstance(change, holm.Put):
                        batch.put(change.key, change.value)
                    elif isinstance(change, holm.Remove):
                        batch.remove(change.key)
        assert copy == db
    feed.close()


def test_a_feed_that_falls_behind(db: holm.Database) -> None:
    feed = db.feed(bytes=10_000)
    for n in range(50):
        db[b"%d" % n] = bytes(1_000)
        db.sync()
    with pytest.raises(holm.FeedLaggedError):
        for _ in iter(lambda: feed.next(0), None):
            pass


def test_close_ends_a_feed_that_waits(db: holm.Database) -> None:
    waiting, ended = threading.Event(), []

    def wait() -> None:
        feed = db.feed()
        drain(feed)
        waiting.set()
        try:
            while True:
                next(feed)
        except holm.ClosedError as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait()
    db.close()
    thread.join()
    assert len(ended) == 1


def interrupted(work: Any) -> None:
    """Runs what waits for ever, and interrupts it as Ctrl-C does, from within the process."""
    # A process in the background ignores the signal, and Python then leaves it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_a_feed_that_waits_is_interrupted(db: holm.Database) -> None:
    feed = db.feed()
    db.sync()
    interrupted(lambda: [None for _ in feed])
    db["north"] = "coral"
    db.sync()
    assert any(change == holm.Put("default", b"north", b"coral", None) for change in next(feed))


def test_loops_without_byte_code_are_interrupted(db: holm.Database) -> None:
    def endless() -> Any:
        import itertools

        return zip(itertools.repeat(b"key"), itertools.repeat(b"value"))

    interrupted(lambda: db.put_many(endless()))
    assert db["key"] == b"value"

    def always_conflicts(tx: holm.Transaction) -> None:
        while True:
            tx.get("key")

    interrupted(lambda: db.transact(always_conflicts))


def test_backups(db: holm.Database, folder: Path) -> None:
    reefs = db.keyspace("reefs")
    reefs.put_many((b"%d" % n, bytes(n)) for n in range(2_000))
    db.sync()
    info = db.backup_to("whole.backup")
    assert info.base == 0 and info.records == 2_000 and info.size == Path("whole.backup").stat().st_size
    assert holm.verify_backup("whole.backup") == info and len(info.uuid) == 16
    with pytest.raises(FileExistsError):
        db.backup_to("whole.backup")
    reefs["new"] = "1"
    changes = io.BytesIO()
    more = db.backup_to(changes, since=info.epoch)
    assert more.base == info.epoch and more.size == len(changes.getvalue()) < info.size
    assert holm.restore(io.BytesIO(Path("whole.backup").read_bytes()), "copy.holm") == info
    with holm.open("copy.holm") as copy:
        assert len(copy.keyspace("reefs")) == 2_000
        changes.seek(0)
        assert copy.apply(changes) == more and copy.keyspace("reefs") == reefs
        changes.seek(0)
        with pytest.raises(holm.WrongBaseError):
            db.apply(changes)
    assert db.backup("folder.holm").records == 2_001
    with holm.open("folder.holm", read_only=True) as copy:
        assert copy.keyspace("reefs") == reefs
    with db.snapshot() as then:
        reefs.clear()
        assert then.backup_to(io.BytesIO()).records == 2_001
    damaged = bytearray(Path("whole.backup").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises(holm.CorruptError):
        holm.restore(io.BytesIO(damaged), "damaged.holm")
    assert not Path("damaged.holm").exists()


def test_backups_come_one_behind_the_other_in_one_file(db: holm.Database) -> None:
    """Regression: a restoration read some 256 KiB beyond its stream, and the file went on within the next one."""
    db["north"] = "coral"
    db.sync()
    file = io.BytesIO()
    info = db.backup_to(file)
    db["north"] = "sand"
    db.sync()
    more = db.backup_to(file, since=info.epoch)
    file.seek(0)
    assert holm.verify_backup(file) == info and holm.verify_backup(file) == more
    assert file.read() == b""
    file.seek(0)
    holm.restore(file, "copy.holm")
    with holm.open("copy.holm") as copy:
        copy.apply(file)
        assert copy["north"] == b"sand"


class Refusing(io.RawIOBase):
    """A file that takes little at a time, and at last nothing."""

    def __init__(self, most: int) -> None:
        self.left = most

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.left <= 0:
            raise ZeroDivisionError("full")
        taken = min(len(data), 1_000)
        self.left -= taken
        return taken


def test_files_that_fail(db: holm.Database, folder: Path) -> None:
    db.put_many((b"%d" % n, bytes(1_000)) for n in range(1_000))
    with pytest.raises(ZeroDivisionError, match="full"):
        db.backup_to(Refusing(500_000))
    assert db.backup_to(Refusing(1 << 30)).records == 1_000
    with pytest.raises(AttributeError):
        db.backup_to(object())

    class Text:
        def read(self, size: int) -> Any:
            return "x" * (size + 1)

    with pytest.raises(holm.HolmError):
        holm.restore(Text(), "copy.holm")
    with pytest.raises(FileNotFoundError):
        holm.restore("absent", "copy.holm")
    assert not Path("copy.holm").exists()


def test_a_file_that_closes_the_database(db: holm.Database) -> None:
    db["north"] = "coral"

    class Closing(io.BytesIO):
        def write(self, data: Any) -> int:
            db.close()
            return super().write(data)

    file = Closing()
    try:
        db.backup_to(file)
    except holm.HolmError:
        pass
    holm.open(db.path).close()


def test_statistics_and_repair(db: holm.Database, folder: Path) -> None:
    db["north"] = "coral"
    assert db.stats()["records"] == 1 and db.recovery()["source"] == "created" and db.check() == []
    db.close()
    report = holm.repair(db.path, "saved.holm")
    assert isinstance(report, dict)
    with holm.open("saved.holm") as saved:
        assert dict(saved) == {b"north": b"coral"}
