"""Says where the time of batched writes goes that the calling thread does not run. Linux only.

    python shells/python/bench/waits.py --records 50000 --rounds 5

The kernel counts for each thread how long it has run, how long it was ready and waited for a processor, and how often
it has given its processor up to wait for something else: a lock, the disk or the interpreter. What is neither running
nor waiting for a processor is `other`. Engines take turns, each in a fresh process and a fresh folder.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Dict, List, Tuple

from peers import ENGINES

Sample = Dict[str, float]


def scheduled() -> Tuple[float, float]:
    """How long this thread has run, and has waited for a processor, in milliseconds."""
    path = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
    run, ready, _ = path.read_text().split()
    return int(run) / 1e6, int(ready) / 1e6


def measure(name: str, records: int, folder: Path) -> Dict[str, Sample]:
    """Writes batches in random order and in the order of keys, into an engine that has the keys of the first one."""
    chance = random.Random(1)
    keys = [b"%016d" % number for number in chance.sample(range(records * 100), records)]
    value = bytes(chance.randrange(256) for _ in range(100))
    mixed = [(key, value) for key in keys]
    in_order = [(b"m" + key[1:], value) for key in sorted(keys)]
    engine = ENGINES[name](folder)
    engine.put(keys, value)
    samples: Dict[str, Sample] = {}
    for workload, pairs in (("again", mixed), ("in order", in_order)):
        engine.settle()
        usage, (run, ready), begun = resource.getrusage(resource.RUSAGE_THREAD), scheduled(), time.perf_counter()
        engine.put_many(pairs)
        wall, (ran, was_ready) = (time.perf_counter() - begun) * 1e3, scheduled()
        blocked = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - usage.ru_nvcsw
        samples[workload] = {"wall": wall, "run": ran - run, "ready": was_ready - ready, "blocked": blocked}
    engine.close()
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default="holm,lmdb-unsafe", help="names, separated by commas")
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], arguments.records, Path(arguments.one[1]))))
        return
    found: Dict[Tuple[str, str], List[Sample]] = {}
    for _ in range(arguments.rounds):
        for name in arguments.engines.split(","):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, "--records", str(arguments.records), "--one", name, folder]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                for workload, sample in json.loads(done.stdout).items():
                    found.setdefault((workload, name), []).append(sample)
    print("| batch | engine | wall ms | runs | ready | other | times blocked |\n|---|---|---|---|---|---|---|")
    for (workload, name), samples in sorted(found.items()):
        wall, run, ready, blocked = (
            statistics.median(sample[part] for sample in samples) for part in ("wall", "run", "ready", "blocked")
        )
        other = statistics.median(sample["wall"] - sample["run"] - sample["ready"] for sample in samples)
        print(f"| {workload} | {name} | {wall:.0f} | {run:.0f} | {ready:.0f} | {other:.1f} | {blocked:.0f} |")


if __name__ == "__main__":
    main()
