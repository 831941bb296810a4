"""Measures the package: a run against the binary, and two workers of Ray against one.

    python measure.py binary target/debug/slotcast
    python measure.py ray

Both sides run in turns, so that whatever else loads the machine loads both. See docs/simulate/python.md.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import slotcast

PAPER = {
    "cluster.initiators": 90,
    "cluster.targets": 90,
    "disk.rate": "400MB/s",
    "workload.chunk_size": "128KiB",
    "run.length": "50ms",
    "run.warmup": "10ms",
}
"""A cell of the paper's Table 2: 90 initiators, 90 targets, chunks of 128 KiB, Replicast-M."""


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def told(name: str, ratios: list[float], a: list[float], b: list[float]) -> None:
    low, _, high = statistics.quantiles(ratios, n=4)
    print(
        f"{name}: median ratio {statistics.median(ratios):.3f} (quartiles {low:.3f} to {high:.3f}) of "
        f"{len(ratios)} pairs; medians {statistics.median(a):.3f} s and {statistics.median(b):.3f} s"
    )
    # What else the machine does only adds to a time: the shortest ones have the least of it.
    print(f"    shortest: {min(a):.4f} s over {min(b):.4f} s is {min(a) / min(b):.3f}")


def binary(command: str, pairs: int = 200) -> None:
    """One run on one thread. The time that each says of itself, from the first event to the report; and the time of
    the call over that of the whole command, which also has to start."""
    options = [f"--set={key}={value}" for key, value in PAPER.items()]
    line = [command, "sim", "/dev/null", *options, "--seeds=1", "--threads=1", "--json=-"]

    def of_package() -> float:
        return slotcast.simulate({}, set=PAPER, seeds=1, threads=1).report["wall_time_s"]

    def of_binary() -> float:
        done = subprocess.run(line, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)["wall_time_s"]

    own: tuple[list[float], list[float]] = ([], [])
    whole: tuple[list[float], list[float]] = ([], [])
    for turn in range(pairs):
        for side in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            own[side].append((of_package, of_binary)[side]())
            whole[side].append(time.perf_counter() - start)
    for name, (a, b) in (("run", own), ("call over command", whole)):
        told(f"package over binary, {name}", [x / y for x, y in zip(a, b, strict=True)], a, b)


def ray(pairs: int = 7) -> None:
    """The same sweep with one worker and with two."""
    import ray as cluster

    from slotcast.ray import sweep

    cluster.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    axes = {"workload.window": [1, 2, 4, 8]}

    def work(cpus: int) -> Callable[[], object]:
        # A task that takes all processors is alone.
        options = {"num_cpus": 2 // cpus}
        long = {**PAPER, "run.length": "400ms"}
        return lambda: sweep({}, set=long, axes=axes, seeds=8, batch=2, options=options)

    work(2)()
    one, two = [], []
    for turn in range(pairs):
        for job, times in ((work(1), one), (work(2), two))[:: 1 if turn % 2 else -1]:
            times.append(timed(job))
    told("one worker over two", [x / y for x, y in zip(one, two, strict=True)], one, two)


if __name__ == "__main__":
    if sys.argv[1:2] == ["binary"] and len(sys.argv) == 3:
        binary(sys.argv[2])
    elif sys.argv[1:] == ["ray"]:
        ray()
    else:
        sys.exit(__doc__)
