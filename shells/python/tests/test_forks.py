"""Forks: the child's use raises, and the parent goes on undisturbed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import traceback
import warnings
from pathlib import Path
from typing import Callable

import pytest

import holm


def in_child(work: Callable[[], None]) -> None:
    """Runs assertions in the child of a fork, which ends as interpreters do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            holm._holm.close_all()  # as the interpreter's end does
            code = 0
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_childs_use_raises(db: holm.Database) -> None:
    reefs = db.keyspace("reefs")
    reefs["north"] = "coral"
    loop, then, tx, feed, batch = iter(reefs), db.snapshot(), db.transaction(), db.feed(), db.batch()

    def child() -> None:
        calls: list[Callable[[], object]] = [
            lambda: db["a"], lambda: db.put("a", ""), lambda: db.sync(), lambda: db.close(), lambda: db.snapshot(),
            lambda: reefs["north"], lambda: next(loop), lambda: then["a"], lambda: tx["a"], lambda: tx.commit(),
            lambda: feed.next(0), lambda: batch.commit(), lambda: list(reefs[:]), lambda: db.transact(print),
            lambda: reefs.put_many({"a": ""}), lambda: reefs.get_many(["a"]), lambda: len(reefs),
        ]  # fmt: skip
        for number, call in enumerate(calls):
            with pytest.raises(holm.ForkError):
                call()
                raise AssertionError(number)

    in_child(child)
    reefs["south"] = "sand"
    db.sync()
    assert dict(reefs) == {b"north": b"coral", b"south": b"sand"} and db.check() == []
    del loop, then, tx, feed, batch


def test_dropping_handles_in_the_child_disturbs_nobody(folder: Path) -> None:
    db = holm.open("sea.holm")
    things = [db, db.keyspace("reefs"), db.snapshot(), db.transaction(), iter(db), db.feed()]
    db["north"] = "coral"

    def child() -> None:
        nonlocal db
        things.clear()
        del db

    in_child(child)
    db["south"] = "sand"
    db.sync()
    db.close()
    with holm.open("sea.holm") as db:
        assert db.recovery()["source"] == "clean_shutdown" and list(db) == [b"north", b"south"]


def test_a_child_that_drops_all_does_not_close_the_parents_database(folder: Path) -> None:
    """The drop of a last handle marks the database as closed; if the parent dies afterwards, recovery must not trust
    that mark."""
    code = """
        import holm, os, signal
        db = holm.open("sea.holm")
        loop = iter(db)
        db["north"] = "coral"
        child = os.fork()
        if child == 0:
            del db, loop
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        db["south"] = "sand"
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with holm.open("sea.holm") as db:
        assert db.recovery()["source"] == "page_cache" and list(db) == [b"north", b"south"]


def test_the_child_opens_its_own(db: holm.Database, folder: Path) -> None:
    def child() -> None:
        with pytest.raises(holm.LockedError):
            holm.open(db.path)
        with holm.open("other.holm") as other:
            other["north"] = "coral"

    in_child(child)
    with holm.open("other.holm") as other:
        assert other["north"] == b"coral"


def worker(number: int) -> str:
    try:
        return str(SHARED[0].get("north"))
    except holm.ForkError:
        return "refused"


SHARED: list[holm.Database] = []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pools_that_fork(db: holm.Database) -> None:
    SHARED[:] = [db]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(worker, range(4)) == ["refused"] * 4
    SHARED.clear()
    db["north"] = "coral"


def test_a_living_child_and_the_lock(folder: Path) -> None:
    """The child has the parent's files open, and the lock is the parent's alone."""
    db = holm.open("sea.holm")
    ready, go = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(ready[1], b"1")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    db.close()
    holm.open("sea.holm").close()
    os.write(go[1], b"1")
    os.waitpid(child, 0)
