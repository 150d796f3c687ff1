"""A program that a type checker reads and nobody runs: what it accepts must be what the package promises."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from datetime import datetime, timedelta
from typing import List, Optional, Tuple

import holm


def mapping(db: holm.Database) -> MutableMapping[bytes, bytes]:
    db["north"] = "coral"
    db[b"north"] = bytearray(b"coral")
    value: bytes = db["north"]
    maybe: Optional[bytes] = db.get("north")
    sure: bytes = db.get("north", b"")
    number = db.get("north", 7)
    if isinstance(number, int):
        number += 1
    popped: bytes = db.pop("north")
    pair: Tuple[bytes, bytes] = db.popitem()
    del db["a":"b"]
    for key in db:
        value += key
    print(value, maybe, sure, popped, pair)
    return db


def ranges(space: holm.Keyspace) -> Iterator[bytes]:
    everything: holm.Range = space[:]
    first: Optional[Tuple[bytes, bytes]] = everything.reverse().first()
    print(first)
    yield from everything.limit(3).keys()
    many: List[Optional[bytes]] = space.get_many(["a", b"b"])
    filled: List[bytes] = space.get_many(["a"], b"")
    count: int = space.put_many({"a": "1"}) + space.put_many([("a", b"1")]) + space.put_many({b"a": b"1"})
    print(many, filled, count)


def transactions(db: holm.Database) -> int:
    @db.transactional
    def count(tx: holm.Transaction, name: str) -> int:
        tx[name] = str(int(tx.get(name, b"0")) + 1)
        return int(tx.keyspace(db.keyspace("other"))[name])

    result: int = count("reefs")
    wrong: str = count(7)  # type: ignore[assignment, arg-type]
    print(wrong)
    return result + db.transact(lambda tx: len(tx))


def expiry(db: holm.Database) -> Optional[datetime]:
    tides = db.keyspace("tides", expires=True)
    tides.put("a", "1", ttl=timedelta(hours=1))
    tides.put("a", "1", until=datetime.now())
    tides.put("a", 7)  # type: ignore[arg-type]
    return tides.expiry("a")


def codecs(db: holm.Database) -> None:
    texts: holm.Coded[str] = holm.Coded(db.keyspace("texts"), holm.Text)
    texts["a"] = 7  # type: ignore[assignment]
    text: str = texts["a"]
    print(text)


async def tasks(db: holm.Database) -> None:
    await db.put_async("a", "1")
    number: int = await db.transact_async(lambda tx: len(tx))
    async for changes in db.feed():
        for change in changes:
            if isinstance(change, holm.Put):
                key: bytes = change.key
                print(key, number)


def snapshots(db: holm.Database) -> None:
    with db.snapshot() as then:
        value: bytes = then["a"]
        then["a"] = value  # type: ignore[index]
        then.keyspace("reefs")["a"] = value
