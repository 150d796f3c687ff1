"""Waiting without blocking the event loop: in a thread, and for durability together."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Tuple, TypeVar

if TYPE_CHECKING:
    from holm import _holm

Result = TypeVar("Result")
Waiter = Tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]

_lock = threading.Lock()
# Who waits for the next sync of a database, by its number. A database is here while a thread syncs it.
_waiting: Dict[int, List[Waiter]] = {}


async def in_thread(call: Callable[[], Result]) -> Result:
    """Runs a call in a thread of the event loop's pool. Holm lets go of the interpreter in all calls that may wait."""
    return await asyncio.to_thread(call)


async def synced(space: _holm.Space) -> None:
    """Returns when every write before the call survives a power cut.

    One thread of each database syncs, for all tasks of all loops that wait. A task that comes while a sync runs waits
    for the next one, because its writes may be too late for the first.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    session = space._session
    with _lock:
        waiters = _waiting.get(session)
        is_first = waiters is None
        if waiters is None:
            waiters = _waiting[session] = []
        waiters.append((loop, done))
    if is_first:
        threading.Thread(target=_sync_for_all, args=(space, session), name="holm-sync", daemon=True).start()
    await done


def _sync_for_all(space: _holm.Space, session: int) -> None:
    while True:
        with _lock:
            waiters = _waiting[session]
            if not waiters:
                del _waiting[session]
                return
            _waiting[session] = []
        error: Optional[Exception] = None
        try:
            space.sync()
        except Exception as raised:
            error = raised
        for loop, done in waiters:
            try:
                loop.call_soon_threadsafe(_finish, done, error)
            except RuntimeError:
                pass  # The loop was closed meanwhile, so nobody waits.


def _finish(done: asyncio.Future[None], error: Optional[Exception]) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
