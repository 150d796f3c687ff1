"""Engines under one interface, each in its fastest configuration of one promise: a write that has returned survives the
death of the process, and a power cut takes the last writes and no others. An engine that is faster without the second
half of it is here a second time, and says so: after a power cut its database may be damaged.

Where an engine has several ways to do a thing, the fastest one is here: LMDB reads in one long transaction, and its
batches are single transactions; SQLite has one transaction for each batch.
"""

from __future__ import annotations

import dbm
import itertools
import sqlite3
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

Pair = Tuple[bytes, bytes]


class Engine:
    """An open engine. A method that is `None` is not measured."""

    #: How it is configured and how its promise differs, for the table's foot.
    note = ""
    #: Whether a power cut may damage the database.
    unsafe = False

    #: Stores one pair after the other, each a write of its own that has taken effect when it returns.
    put: Optional[Callable[[List[bytes], bytes], None]] = None

    def get(self, keys: List[bytes]) -> int:
        """Reads one key after the other; returns the bytes."""
        raise NotImplementedError

    def put_many(self, pairs: List[Pair]) -> None:
        """Stores many pairs in one call or transaction."""
        raise NotImplementedError

    get_many: Optional[Callable[[List[bytes]], int]] = None
    scan: Optional[Callable[[], int]] = None
    short_scans: Optional[Callable[[List[bytes], int], int]] = None

    def settle(self) -> None:
        """Writes to disk what is still to be written, so that one workload does not pay for another. Not measured."""

    def close(self) -> None:
        raise NotImplementedError


class Mapped(Engine):
    """An engine whose database is a mapping."""

    db: Any

    def put(self, keys: List[bytes], value: bytes) -> None:
        db = self.db
        for key in keys:
            db[key] = value

    def get(self, keys: List[bytes]) -> int:
        db, total = self.db, 0
        for key in keys:
            total += len(db[key])
        return total

    def close(self) -> None:
        self.db.close()


class Holm(Mapped):
    def __init__(self, folder: Path) -> None:
        import holm

        self.db = holm.open(folder / "holm")

    def put_many(self, pairs: List[Pair]) -> None:
        self.db.put_many(pairs)

    def get_many(self, keys: List[bytes]) -> int:
        return sum(map(len, self.db.get_many(keys)))  # type: ignore[arg-type]

    def scan(self) -> int:
        return sum(len(value) for _, value in self.db[:])

    def short_scans(self, starts: List[bytes], length: int) -> int:
        db, total = self.db, 0
        for start in starts:
            for _, value in db.range(start, limit=length).to_list():
                total += len(value)
        return total

    def settle(self) -> None:
        self.db.sync()


class Lmdb(Engine):
    note = "`writemap`, synced: otherwise a power cut may damage it. Its single puts would measure the disk alone"
    sync = True

    def __init__(self, folder: Path) -> None:
        import lmdb

        self.env = lmdb.open(str(folder / "lmdb"), map_size=8 << 30, sync=self.sync, metasync=False, writemap=True)

    def get(self, keys: List[bytes]) -> int:
        total = 0
        with self.env.begin() as tx:
            get = tx.get
            for key in keys:
                total += len(get(key))
        return total

    def put_many(self, pairs: List[Pair]) -> None:
        with self.env.begin(write=True) as tx:
            tx.cursor().putmulti(pairs)

    def get_many(self, keys: List[bytes]) -> int:
        with self.env.begin() as tx:
            return sum(len(value) for _, value in tx.cursor().getmulti(keys))

    def scan(self) -> int:
        with self.env.begin() as tx:
            return sum(len(value) for _, value in tx.cursor())

    def short_scans(self, starts: List[bytes], length: int) -> int:
        total = 0
        with self.env.begin() as tx:
            cursor = tx.cursor()
            for start in starts:
                cursor.set_range(start)
                for _, value in itertools.islice(cursor, length):
                    total += len(value)
        return total

    def settle(self) -> None:
        self.env.sync(True)

    def close(self) -> None:
        self.env.close()


class LmdbUnsafe(Lmdb):
    note = "`writemap`, `sync=False`"
    unsafe = True
    sync = False

    def put(self, keys: List[bytes], value: bytes) -> None:
        begin = self.env.begin
        for key in keys:
            with begin(write=True) as tx:
                tx.put(key, value)


class Plyvel(Engine):
    note = "LevelDB, `sync=False`"

    def __init__(self, folder: Path) -> None:
        import plyvel

        self.db = plyvel.DB(str(folder / "plyvel"), create_if_missing=True, write_buffer_size=64 << 20,
                            lru_cache_size=256 << 20, compression=None)  # fmt: skip

    def put(self, keys: List[bytes], value: bytes) -> None:
        put = self.db.put
        for key in keys:
            put(key, value)

    def get(self, keys: List[bytes]) -> int:
        get, total = self.db.get, 0
        for key in keys:
            total += len(get(key))
        return total

    def put_many(self, pairs: List[Pair]) -> None:
        with self.db.write_batch() as batch:
            put = batch.put
            for key, value in pairs:
                put(key, value)

    def scan(self) -> int:
        return sum(len(value) for _, value in self.db.iterator())

    def short_scans(self, starts: List[bytes], length: int) -> int:
        iterator, total = self.db.raw_iterator(), 0
        for start in starts:
            iterator.seek(start)
            for _ in range(length):
                if not iterator.valid():
                    break
                _, value = iterator.item()
                total += len(value)
                iterator.next()
        return total

    def close(self) -> None:
        self.db.close()


class Rocksdict(Mapped):
    note = "RocksDB, raw mode, without sync"

    def __init__(self, folder: Path) -> None:
        from rocksdict import DBCompressionType, Options, Rdict

        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_compression_type(DBCompressionType.none())
        self.db = Rdict(str(folder / "rocksdict"), options)

    def put_many(self, pairs: List[Pair]) -> None:
        from rocksdict import WriteBatch

        batch = WriteBatch(raw_mode=True)
        for key, value in pairs:
            batch[key] = value
        self.db.write(batch)

    def get_many(self, keys: List[bytes]) -> int:
        return sum(map(len, self.db[keys]))

    def scan(self) -> int:
        return sum(len(value) for _, value in self.db.items())

    def short_scans(self, starts: List[bytes], length: int) -> int:
        total = 0
        for start in starts:
            for _, value in itertools.islice(self.db.items(from_key=start), length):
                total += len(value)
        return total

    def settle(self) -> None:
        self.db.flush()


class Sqlite(Engine):
    synchronous = "NORMAL"
    note = "WAL, `synchronous=NORMAL`, a table `WITHOUT ROWID`"

    def __init__(self, folder: Path) -> None:
        self.db = sqlite3.connect(str(folder / "sqlite"), isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute(f"PRAGMA synchronous={self.synchronous}")
        self.db.execute("PRAGMA cache_size=-262144")
        self.db.execute("PRAGMA mmap_size=4294967296")
        self.db.execute("CREATE TABLE pairs (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def put(self, keys: List[bytes], value: bytes) -> None:
        execute = self.db.execute
        for key in keys:
            execute("INSERT OR REPLACE INTO pairs VALUES (?, ?)", (key, value))

    def get(self, keys: List[bytes]) -> int:
        execute, total = self.db.execute, 0
        for key in keys:
            total += len(execute("SELECT value FROM pairs WHERE key = ?", (key,)).fetchone()[0])
        return total

    def put_many(self, pairs: List[Pair]) -> None:
        self.db.execute("BEGIN")
        self.db.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?)", pairs)
        self.db.execute("COMMIT")

    def scan(self) -> int:
        return sum(len(value) for _, value in self.db.execute("SELECT key, value FROM pairs ORDER BY key"))

    def short_scans(self, starts: List[bytes], length: int) -> int:
        execute, total = self.db.execute, 0
        for start in starts:
            query = "SELECT key, value FROM pairs WHERE key >= ? ORDER BY key LIMIT ?"
            for _, value in execute(query, (start, length)):
                total += len(value)
        return total

    def close(self) -> None:
        self.db.close()


class SqliteUnsafe(Sqlite):
    synchronous = "OFF"
    note = "the same with `synchronous=OFF`"
    unsafe = True


class Dbm(Mapped):
    """Whichever of the modules of `dbm` the interpreter has; a hash table, so without scans."""

    unsafe = True

    def __init__(self, folder: Path) -> None:
        self.db = dbm.open(str(folder / "dbm"), "n")
        self.note = f"`{dbm.whichdb(str(folder / 'dbm'))}`; no order"

    def put_many(self, pairs: Iterable[Pair]) -> None:
        db = self.db
        for key, value in pairs:
            db[key] = value


ENGINES: Dict[str, Any] = {
    "holm": Holm,
    "lmdb": Lmdb,
    "rocksdict": Rocksdict,
    "plyvel": Plyvel,
    "sqlite3": Sqlite,
    "lmdb-unsafe": LmdbUnsafe,
    "sqlite3-unsafe": SqliteUnsafe,
    "dbm-unsafe": Dbm,
}
