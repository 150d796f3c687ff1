"""Transactions, batches and snapshots."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import pytest

import holm


def test_a_transaction_commits_at_the_end(db: holm.Database) -> None:
    reefs = db.keyspace("reefs")
    reefs["north"] = "coral"
    with db.transaction() as tx:
        view = tx.keyspace(reefs)
        view["south"] = view["north"]
        tx["count"] = "2"
        assert view["south"] == b"coral" and "south" not in reefs and tx.get("count") == b"2"
        assert list(view) == [b"north", b"south"] and len(view) == 2 and view
    assert dict(reefs) == {b"north": b"coral", b"south": b"coral"} and db["count"] == b"2"
    with pytest.raises(holm.ClosedError, match="transaction"):
        tx["late"] = "1"
    with pytest.raises(holm.ClosedError):
        tx.commit()
    tx.discard()


def test_an_exception_ends_it_and_nothing_has_happened(db: holm.Database) -> None:
    with pytest.raises(ZeroDivisionError):
        with db.transaction() as tx:
            tx["north"] = "coral"
            1 // 0
    assert tx.ended and not db


def test_a_conflict_is_an_exception(db: holm.Database) -> None:
    db["north"] = "coral"
    with pytest.raises(holm.ConflictError):
        with db.transaction() as tx:
            tx["south"] = tx["north"]
            db["north"] = "sand"
    assert "south" not in db


def test_the_methods_of_a_mapping(db: holm.Database) -> None:
    db.update(a="1", b="2", c="3")
    with db.transaction() as tx:
        assert tx.pop("a") == b"1" and tx.pop("x", None) is None and tx.setdefault("d", "4") == b"4"
        tx.update({"e": "5"}, f="6")
        del tx["b"]
        with pytest.raises(KeyError):
            del tx["b"]
        with pytest.raises(KeyError):
            tx["b"]
        assert list(tx.items()) == [(b"c", b"3"), (b"d", b"4"), (b"e", b"5"), (b"f", b"6")]
        assert list(reversed(tx)) == [b"f", b"e", b"d", b"c"]
        assert list(tx["d":"f"].values()) == [b"4", b"5"] and tx.first() == (b"c", b"3") and tx.last() == (b"f", b"6")
        assert tx["d":"f"].remove() == 2
        assert list(tx.prefix("f")) == [(b"f", b"6")] and not tx.remove("x") and tx.remove("c")
    assert dict(db) == {b"f": b"6"}
    with db.transaction() as tx:
        tx.clear()
    assert not db


def test_a_loop_sees_what_the_transaction_writes_meanwhile(db: holm.Database) -> None:
    db.put_many((b"%03d" % n, b"") for n in range(0, 100, 2))
    for reverse in (False, True):
        with db.transaction() as tx:
            seen = []
            for key in tx.range(reverse=reverse).keys():
                seen.append(key)
                number = int(key)
                step = -1 if reverse else 1
                if number % 4 == 0 and 0 < number < 98:
                    tx[b"%03d" % (number + step)] = b""
                    tx.remove(b"%03d" % (number + 2 * step))
            tx.discard()
        model, expected = {n for n in range(0, 100, 2)}, []
        at = 98 if reverse else 0
        step = -1 if reverse else 1
        while 0 <= at < 100:
            if at in model:
                expected.append(b"%03d" % at)
                if at % 4 == 0 and 0 < at < 98:
                    model.add(at + step)
                    model.discard(at + 2 * step)
            at += step
        assert seen == expected
        assert len(tx_keys(db, limit=3)) == 3


def tx_keys(db: holm.Database, limit: int) -> list[bytes]:
    """A limit holds although the transaction writes between two pairs."""
    with db.transaction() as tx:
        keys = []
        for key in tx.range(limit=limit).keys():
            keys.append(key)
            tx[b"x%d" % len(keys)] = b""
        tx.discard()
    return keys


def test_transact_retries(db: holm.Database) -> None:
    db["count"] = "0"

    @db.transactional
    def add(tx: holm.Transaction, by: int) -> int:
        count = int(tx["count"]) + by
        tx["count"] = str(count)
        return count

    def work() -> None:
        for _ in range(100):
            add(by=1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db["count"] == b"400" and add(1) == 401 and add.__name__ == "add"


def test_transact_ends_with_the_functions_exception(db: holm.Database) -> None:
    def fail(tx: holm.Transaction) -> None:
        tx["north"] = "coral"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.transact(fail)
    assert not db


def test_transact_repeats_a_function_that_saw_a_conflict(db: holm.Database) -> None:
    db["north"] = "1"
    runs = []

    def run(tx: holm.Transaction) -> None:
        runs.append(tx)
        tx.get("north")
        if len(runs) == 1:
            db["north"] = "2"
            tx.get("north")  # conflicts; what the function makes of that does not count
            raise AssertionError("unreached, or of a read that conflicted")
        tx["north"] = "3"

    try:
        db.transact(run)
    except AssertionError:
        pytest.fail("the exception of an attempt that had conflicted came out")
    assert db["north"] == b"3" and len(runs) == 2
    with pytest.raises(holm.ClosedError):
        runs[0]["north"]


def test_transact_refuses_what_runs_later(db: holm.Database) -> None:
    async def coroutine(tx: holm.Transaction) -> None: ...

    def generator(tx: holm.Transaction) -> Iterator[int]:
        yield 1

    for function in (coroutine, generator):
        with pytest.raises(TypeError, match="plain function"):
            db.transact(function)
        with pytest.raises(TypeError):
            db.transactional(function)


def test_transact_within_transact_is_refused(db: holm.Database) -> None:
    with pytest.raises(holm.InvalidError, match="within"):
        db.transact(lambda tx: db.transact(lambda other: None))


def test_a_function_that_ends_its_transaction_or_closes(db: holm.Database) -> None:
    for end in (lambda tx: tx.commit(), lambda tx: tx.discard(), lambda tx: db.close()):
        with pytest.raises(holm.ClosedError):
            db.transact(end)


def test_a_function_that_closes_leaves_nothing_and_frees_the_lock_at_its_end(db: holm.Database) -> None:
    def close(tx: holm.Transaction) -> None:
        tx["north"] = "coral"
        db.close()
        with pytest.raises(holm.ClosedError):
            tx["south"] = "sand"
        with pytest.raises(holm.LockedError):
            holm.open(db.path)

    with pytest.raises(holm.ClosedError):
        db.transact(close)
    with holm.open(db.path) as again:
        assert again.recovery()["source"] == "clean_shutdown" and "north" not in again


def test_a_lent_transaction_outlives_nothing(db: holm.Database) -> None:
    kept: list[Any] = []

    def keep(tx: holm.Transaction) -> None:
        kept.extend([tx, iter(tx), tx[:], tx.keyspace(db)])

    db["north"] = "coral"
    db.transact(keep)
    tx, loop, everything, view = kept
    for call in (lambda: tx["north"], lambda: next(loop), lambda: list(everything), lambda: view.get("north")):
        with pytest.raises(holm.ClosedError):
            call()


def test_keyspaces_of_another_database(db: holm.Database, folder: Any) -> None:
    with holm.open(folder / "other.holm") as other:
        with pytest.raises(holm.InvalidError), db.transaction() as tx:
            tx.keyspace(other)["north"] = "coral"
        with pytest.raises(holm.InvalidError), db.batch() as batch:
            batch.put("north", "coral", into=other)


def test_receipts_and_marks(db: holm.Database) -> None:
    tx = db.transaction()
    tx["north"] = "coral"
    tx.set_mark(7)
    receipt = tx.commit()
    receipt.wait_durable()
    assert db.stats()["epochs"]["durable"] >= receipt.epoch
    assert db.mark() == db.durable_mark() == 7
    with db.batch() as batch:
        batch.set_mark(8)
    assert db.mark() == 8


def test_batches(db: holm.Database) -> None:
    reefs = db.keyspace("reefs")
    reefs["north"] = "coral"
    with db.batch() as batch:
        batch["count"] = "1"
        batch.put("south", "sand", into=reefs)
        batch.remove("north", of=reefs)
        assert len(batch) == 3 and "south" not in reefs
    assert dict(reefs) == {b"south": b"sand"} and db["count"] == b"1"
    with pytest.raises(holm.ClosedError, match="batch"):
        batch["late"] = ""
    with pytest.raises(ZeroDivisionError):
        with db.batch() as batch:
            del batch["count"]
            1 // 0
    assert "count" in db
    with pytest.raises(holm.TooLargeError):
        with db.batch() as batch:
            batch["k" * (holm.MAX_KEY + 1)] = ""
            batch["fine"] = ""
    assert "fine" not in db


def test_snapshots(db: holm.Database) -> None:
    reefs = db.keyspace("reefs")
    reefs["north"] = "coral"
    db["count"] = "1"
    with db.snapshot() as then:
        reefs["north"] = "sand"
        db.keyspace("atolls")
        db["count"] = "2"
        assert dict(then.keyspace("reefs")) == {b"north": b"coral"} and then["count"] == b"1"
        assert list(then) == [b"count"] and len(then) == 1 and "count" in then and list(reversed(then)) == [b"count"]
        assert then.get("x") is None and list(then.items()) == [(b"count", b"1")] and then == {b"count": b"1"}
        assert then.keyspaces() == ["default", "reefs"] and then.epoch > 0 and then.mark() is None
        assert then.keyspace("reefs").get_many(["north", "x"]) == [b"coral", None]
        with pytest.raises(KeyError):
            then.keyspace("atolls")
        with pytest.raises(holm.ReadOnlyError):
            then.keyspace("reefs").put("north", "kelp")
        with db.snapshot(within=60) as shared:
            assert shared.epoch >= then.epoch
    with pytest.raises(holm.ClosedError, match="snapshot"):
        then["count"]
    then.close()


def test_an_update_takes_what_a_keyspace_takes(db: holm.Database) -> None:
    """It made a dictionary of the pairs first: a `bytearray` was no key, and `str` and `bytes` of one key were two."""
    pairs = [("north", "1"), (b"north", "2"), ("north", "3"), (bytearray(b"south"), "4"), (memoryview(b"west"), b"5")]
    db.update(pairs, east="6")
    expected = dict(db)
    db.clear()
    with db.transaction() as tx:
        tx.update(pairs, east="6")
        assert dict(tx) == expected == {b"east": b"6", b"north": b"3", b"south": b"4", b"west": b"5"}
        tx.update({b"north": "7"})
        tx.update(south="8")
        with pytest.raises(TypeError):
            tx.update(pairs, pairs)
    assert (db["north"], db["south"]) == (b"7", b"8")
