"""The end of databases: close, use afterwards, locks, the interpreter's exit."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any, Callable

import pytest

import holm


def everything(db: holm.Database) -> list[Any]:
    """One of each object that a database gives."""
    reefs = db.keyspace("reefs")
    reefs.put_many((b"%d" % n, b"") for n in range(1_000))
    then, tx = db.snapshot(), db.transaction()
    receipt = db.transaction().commit()
    loop, other = iter(reefs), iter(then.keyspace("reefs"))
    next(loop), next(other)
    view = tx.keyspace(reefs)
    return [reefs, then, tx, receipt, loop, other, view, iter(view), reefs[:], db.batch(), db.feed(), reefs.keys()]


def test_every_object_refuses_after_close(db: holm.Database) -> None:
    reefs, then, tx, receipt, loop, other, view, inner, everything_, batch, feed, keys = everything(db)
    coded = holm.Coded(reefs, holm.Json)
    db.close()
    db.close()
    assert db.closed and "closed" in repr(db)
    calls: list[Callable[[], object]] = [
        lambda: db["a"], lambda: db.sync(), lambda: db.keyspaces(), lambda: db.keyspace("reefs"), lambda: db.stats(),
        lambda: db.check(), lambda: db.recovery(), lambda: db.transaction(), lambda: db.batch(), lambda: db.snapshot(),
        lambda: db.feed(), lambda: db.backup("copy"), lambda: db.mark(), lambda: db.transact(print), lambda: iter(db),
        lambda: reefs["1"], lambda: reefs.put("1", ""), lambda: len(reefs), lambda: bool(reefs), lambda: iter(reefs),
        lambda: reefs.first(), lambda: reefs.clear(), lambda: reefs.get_many(["1"]), lambda: reefs.put_many({"1": ""}),
        lambda: then["a"], lambda: then.keyspace("reefs"), lambda: then.epoch, lambda: tx["a"], lambda: tx.commit(),
        lambda: receipt.wait_durable(), lambda: next(loop), lambda: next(other), lambda: view["1"],
        lambda: next(inner), lambda: list(everything_), lambda: everything_.remove(), lambda: everything_.count(),
        lambda: everything_.to_list(), lambda: list(everything_.columns()), lambda: batch.put("a", ""),
        lambda: batch.commit(), lambda: feed.next(0), lambda: next(feed), lambda: list(keys), lambda: coded["1"],
        lambda: reefs.update_value("1", lambda value: value), lambda: reversed(reefs),
        lambda: "1" in everything_.keys(), lambda: batch.set_mark(1), lambda: tx.set_mark(1), lambda: len(batch),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        with pytest.raises(holm.ClosedError):
            call()
            pytest.fail(f"call {number} went through")


def test_close_frees_the_lock_whatever_objects_are_left(db: holm.Database) -> None:
    kept = everything(db)
    db.close()
    with holm.open(db.path) as again:
        assert again.recovery()["source"] == "clean_shutdown" and len(again.keyspace("reefs")) == 1_000
    del kept


def test_a_database_that_nobody_has_is_closed(folder: Path) -> None:
    loop = iter(holm.open("sea.holm"))
    with pytest.raises(holm.LockedError):
        holm.open("sea.holm")
    del loop
    gc.collect()
    holm.open("sea.holm").close()


def test_an_exception_in_a_with_statement_closes(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        with holm.open("sea.holm") as db:
            db["north"] = "coral"
            1 // 0
    with holm.open("sea.holm") as db:
        assert db["north"] == b"coral"


def test_one_path_opens_once(db: holm.Database) -> None:
    with pytest.raises(holm.LockedError, match=str(os.getpid())) as caught:
        holm.open(db.path)
    assert caught.value.holder == os.getpid()
    with pytest.raises(holm.LockedError):
        holm.open(db.path, read_only=True)


def run(code: str, *args: object, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **kwargs)


def test_another_process_names_the_holder(db: holm.Database) -> None:
    code = """
        import holm, sys
        try:
            holm.open(sys.argv[1])
        except holm.LockedError as error:
            print(error.holder)
    """
    assert run(code, db.path).stdout.split() == [str(os.getpid())]


def test_many_readers_of_a_closed_database(db: holm.Database) -> None:
    db["north"] = "coral"
    db.close()
    with holm.open(db.path, read_only=True) as one, holm.open(db.path, read_only=True) as other:
        assert one["north"] == other["north"] == b"coral" and one.get_many(["x"]) == [None] and list(one[:]) != []
        for write in (lambda: one.put("a", ""), lambda: one.clear(), lambda: one.sync(), lambda: one.snapshot()):
            with pytest.raises(holm.ReadOnlyError):
                write()
        with pytest.raises(KeyError):
            one.keyspace("reefs")
        assert one.stats()["records"] == 1 and one.check() == [] and one.backup_to("copy.backup").records == 1


def test_what_cannot_be_opened(folder: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        holm.open("absent.holm", create=False)
    assert isinstance(caught.value, holm.NotFoundError)
    Path("file").write_text("")
    with pytest.raises(holm.FormatError):
        holm.open("file")
    Path("sealed").mkdir(mode=0o555)
    if os.getuid() != 0:
        with pytest.raises(holm.HolmError):
            holm.open("sealed/sea.holm")
    for wrong in ({"durability": "perhaps"}, {"durability": "strict", "interval": 1}, {"interval": -1}):
        with pytest.raises(holm.InvalidError):
            holm.open("sea.holm", **wrong)
    with pytest.raises(TypeError):
        holm.open(7)


@pytest.mark.parametrize("durability", ["buffered", "strict", "onsync"])
def test_durabilities(folder: Path, durability: str) -> None:
    with holm.open("sea.holm", durability) as db:
        db["north"] = "coral"
        db.sync()
        assert db["north"] == b"coral" and len(db) == 1
    with holm.open("sea.holm", durability, private=True, capacity=1 << 30, sweep=0) as db:
        assert db["north"] == b"coral"


def test_nothing_is_pickled_or_copied(db: holm.Database) -> None:
    for thing in [db, *everything(db)[:11]]:
        with pytest.raises(TypeError, match="path"):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            copy.copy(thing)


def test_the_end_of_the_interpreter_closes(folder: Path) -> None:
    code = """
        import holm, threading, time
        db = holm.open("sea.holm")
        loop = iter(db)
        tx = db.transaction()
        db["north"] = "coral"
        def write():
            while True:
                try:
                    db.increment("count")
                    list(db)
                except holm.ClosedError:
                    return
        for _ in range(3):
            threading.Thread(target=write, daemon=True).start()
        def wait():
            feed = db.feed()
            while True:
                feed.next()
        threading.Thread(target=wait, daemon=True).start()
        while "count" not in db:
            pass
    """
    done = run(code)
    assert done.returncode == 0, done.stderr
    with holm.open("sea.holm") as db:
        assert db.recovery()["source"] == "clean_shutdown" and db["north"] == b"coral"


def test_a_process_that_is_killed_loses_nothing(folder: Path) -> None:
    code = """
        import holm, os, signal
        db = holm.open("sea.holm")
        db.put_many((str(n), "") for n in range(10_000))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(code).returncode == -9
    with pytest.raises(holm.NotCleanError):
        holm.open("sea.holm", read_only=True)
    with holm.open("sea.holm") as db:
        assert len(db) == 10_000 and db.recovery()["source"] == "page_cache"


def test_threads_that_work_while_another_closes(db: holm.Database) -> None:
    begun, unexpected = threading.Barrier(6), []

    def work(step: Callable[[int], object]) -> None:
        begun.wait()
        number = 0
        try:
            while True:
                number += 1
                step(number)
        except holm.ClosedError:
            pass
        except BaseException as error:
            unexpected.append(error)

    steps: list[Callable[[int], object]] = [
        lambda n: db.put(b"%d" % n, b""),
        lambda n: db.put_many((b"%d" % n, b"") for n in range(100)),
        lambda n: list(db),
        lambda n: db.transact(lambda tx: tx.put(b"%d" % n, b"")),
        lambda n: db.snapshot().keyspace("default").first(),
    ]
    threads = [threading.Thread(target=work, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    begun.wait()
    while "1" not in db:
        pass
    db.close()
    for thread in threads:
        thread.join()
    assert unexpected == []
    holm.open(db.path).close()


def test_a_second_interpreter_of_a_process_is_refused_or_works(folder: Path) -> None:
    code = """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        import holm
        holm.open("main.holm")
        one = interpreters.create()
        done = interpreters.run_string(one, '''if True:
            try:
                import holm
            except ImportError as error:
                print("refused:", error, flush=True)
            else:
                db = holm.open("other.holm")
                db["north"] = "coral"
                try:
                    holm.open("other.holm")
                except holm.LockedError:
                    print("works", dict(db), flush=True)
        ''')
        assert done is None, done
        interpreters.destroy(one)
    """
    done = run(code)
    if "No module" in done.stderr:
        pytest.skip("this Python has no subinterpreters")
    assert done.returncode == 0 and done.stdout.split(" ")[0].strip(":") in ("refused", "works"), done
    for path in {"main.holm", "other.holm"} & {path.name for path in folder.iterdir()}:
        with holm.open(path) as db:
            assert db.recovery()["source"] == "clean_shutdown"


def test_paths_are_bytes_as_well_and_need_not_be_text(folder: Path) -> None:
    name = b"sea-\xff.holm"
    with holm.open(name) as db:
        db["north"] = "coral"
        db.backup(b"copy-\xfe.holm")
        db.backup_to(b"sea-\xff.backup")
    assert os.path.isdir(name) and os.path.isdir(b"copy-\xfe.holm") and os.path.isfile(b"sea-\xff.backup")
    holm.restore(b"sea-\xff.backup", b"restored-\xfd.holm")
    holm.repair(name, b"repaired-\xfc.holm")
    for path in (name, b"copy-\xfe.holm", b"restored-\xfd.holm", b"repaired-\xfc.holm"):
        with holm.open(path, create=False) as db:
            assert db["north"] == b"coral" and os.fsencode(db.path).endswith(path)
