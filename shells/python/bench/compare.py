"""Compares Holm with other embedded stores for Python, in one interleaved run.

    pip install lmdb rocksdict plyvel
    python shells/python/bench/compare.py --records 200000 --rounds 5

Each engine of each round runs in a fresh process and a fresh folder, and the engines take turns within a round. A cell
is the median of the rounds in operations per second, with the lowest and the highest. The last two columns are how many
times Holm is as fast as the best of the others that keep its promise, and as the best of all, those among them that a
power cut may damage; below 1 it loses. Keys have 16 bytes in random order, values 100 bytes.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

from peers import ENGINES

SHORT = 10


def measure(name: str, records: int, folder: Path) -> Dict[str, float]:
    """Runs all workloads on one engine; returns operations per second."""
    chance = random.Random(1)
    keys = [b"%016d" % number for number in chance.sample(range(records * 100), records)]
    value = bytes(chance.randrange(256) for _ in range(100))
    shuffled, many = keys[:], [(b"m" + key[1:], value) for key in sorted(keys)]
    chance.shuffle(shuffled)
    starts = shuffled[: max(1, records // 20)]
    engine = ENGINES[name](folder)
    speeds: Dict[str, float] = {}

    def timed(workload: str, count: int, work: Callable[[], Any], expected: int = -1) -> None:
        engine.settle()
        gc.collect()
        begun = time.perf_counter()
        found = work()
        speeds[workload] = count / (time.perf_counter() - begun)
        if expected >= 0 and found != expected:
            raise AssertionError(f"{name}, {workload}: found {found} bytes, expected {expected}")

    if engine.put is not None:
        timed("put", records, lambda: engine.put(keys, value))
    else:
        engine.put_many([(key, value) for key in keys])
    timed("get", records, lambda: engine.get(shuffled), records * len(value))
    if engine.get_many is not None:
        timed("get, batched", records, lambda: engine.get_many(shuffled), records * len(value))
    if engine.scan is not None:
        timed("scan, pairs", records, lambda: engine.scan(), records * len(value))
        timed(f"scan of {SHORT}", len(starts), lambda: engine.short_scans(starts, SHORT))
    if engine.put is not None:
        timed("put, again", records, lambda: engine.put(shuffled, value))
    mixed = [(key, value) for key in keys]
    timed("put, batched, again", records, lambda: engine.put_many(mixed))
    timed("put, batched, in order", records, lambda: engine.put_many(many))
    engine.close()
    return {"note": engine.note, **speeds}  # type: ignore[dict-item]


def cell(values: List[float]) -> str:
    if not values:
        return ""
    thousands = [value / 1000 for value in (statistics.median(values), min(values), max(values))]
    return "{:.0f} ({:.0f} to {:.0f})".format(*thousands)


def ratio(rounds: List[Dict[str, Dict[str, Any]]], workload: str, names: List[str]) -> str:
    """How many times Holm is as fast as the best of these, round by round."""
    ratios = []
    for turn in rounds:
        peers = [turn[name][workload] for name in names if workload in turn[name]]
        if peers and "holm" in turn:
            ratios.append(turn["holm"][workload] / max(peers))
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""


def table(rounds: List[Dict[str, Dict[str, Any]]], names: List[str]) -> str:
    """The table of all rounds, in thousands of operations per second."""
    workloads = [key for key in rounds[0]["holm" if "holm" in names else names[0]] if key != "note"]
    peers = [name for name in names if name != "holm"]
    safe = [name for name in peers if not ENGINES[name].unsafe]
    heads = ["thousand per second", *names, "Holm to the best of its promise", "to the best of all"]
    lines = ["| " + " | ".join(heads) + " |"]
    lines.append("|---" * (len(names) + 3) + "|")
    for workload in workloads:
        speeds = [cell([turn[name][workload] for turn in rounds if workload in turn[name]]) for name in names]
        ratios = [ratio(rounds, workload, safe), ratio(rounds, workload, peers)]
        lines.append("| " + " | ".join([workload, *speeds, *ratios]) + " |")
    notes = [f"- {name}: {rounds[0][name]['note']}" for name in names if rounds[0][name].get("note")]
    return "\n".join(lines + [""] + notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=",".join(ENGINES), help="names, separated by commas")
    parser.add_argument("--folder", type=Path, help="where the databases lie; a temporary folder if absent")
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], arguments.records, Path(arguments.one[1]))))
        return
    names = arguments.engines.split(",")
    rounds = []
    for number in range(arguments.rounds):
        # Each round begins with another engine.
        order = names[number % len(names) :] + names[: number % len(names)]
        turn = {}
        for name in order:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                command = [sys.executable, __file__, "--records", str(arguments.records), "--one", name, folder]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                turn[name] = json.loads(done.stdout)
        rounds.append(turn)
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        print(f"round {number + 1} of {arguments.rounds}, load {load}", file=sys.stderr)
    print(table(rounds, names))


if __name__ == "__main__":
    main()
