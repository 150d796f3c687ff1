"""What awaits durability."""

from __future__ import annotations

import asyncio

import pytest

import holm


def test_writes_return_when_they_are_durable(db: holm.Database) -> None:
    async def main() -> None:
        await asyncio.gather(*(db.put_async(f"{n}", "coral") for n in range(200)))
        assert await db.put_many_async({"a": "1", "b": "2"}) == 2
        assert await db.remove_async("a") and not await db.remove_async("a")
        assert await db.get_async("b") == b"2" and await db.get_async("a", b"-") == b"-"
        assert await db.transact_async(lambda tx, by: tx.pop("b") + by, b"!") == b"2!"
        with pytest.raises(holm.InvalidError):
            await db.put_async("c", "", ttl=1)
        batch = db.batch()
        batch["c"] = "3"
        await batch.commit_async()
        db["d"] = "4"
        before = db.stats()["log"]["entries"]
        await asyncio.gather(*(db.sync_async() for _ in range(1_000)))
        assert db.stats()["log"]["entries"] - before < 50, "a thousand tasks share syncs"

    asyncio.run(main())
    assert len(db) == 202


def test_waiting_tasks_of_a_database_that_is_closed(db: holm.Database) -> None:
    async def main() -> None:
        db["a"] = "1"
        waits = [asyncio.create_task(db.sync_async()) for _ in range(10)]
        await asyncio.sleep(0)
        db.close()
        for done in await asyncio.gather(*waits, return_exceptions=True):
            assert done is None or isinstance(done, holm.ClosedError)
        with pytest.raises(holm.ClosedError):
            await db.sync_async()

    asyncio.run(main())


def test_a_loop_that_is_gone_hurts_no_other(db: holm.Database) -> None:
    async def leave() -> None:
        for _ in range(10):
            asyncio.create_task(db.sync_async())
        await asyncio.sleep(0)

    asyncio.run(leave())
    asyncio.run(db.sync_async())


def test_a_feed_loses_nothing_when_its_task_is_cancelled(db: holm.Database) -> None:
    async def main() -> None:
        feed = db.feed()
        seen = []

        async def take() -> None:
            async for changes in feed:
                seen.extend(change.key for change in changes if isinstance(change, holm.Put))

        for n in range(20):
            task = asyncio.create_task(take())
            await db.put_async(b"%02d" % n, b"")
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        task = asyncio.create_task(take())
        while len(seen) < 20:
            await asyncio.sleep(0.001)
        task.cancel()
        assert seen == [b"%02d" % n for n in range(20)]

    asyncio.run(main())


def test_async_for_ends_with_the_database(db: holm.Database) -> None:
    async def main() -> None:
        feed = db.feed()
        asyncio.get_running_loop().call_soon(db.close)
        with pytest.raises(holm.ClosedError):
            async for _ in feed:
                pass

    asyncio.run(main())
