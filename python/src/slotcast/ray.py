"""Sweeps over a Ray cluster.

The process that calls ``sweep`` has the folder of finished runs, and hands out those that are missing in tasks of some
runs each. A task that dies with its worker is handed out again; what others found stays. Runs depend on nothing but
their settings and seed, so the result is, byte by byte, that of ``slotcast.sweep`` on one machine.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import ray

from . import _slotcast
from ._results import SweepResult
from ._settings import axes as _axes
from ._settings import overrides as _overrides
from ._settings import source as _source

__all__ = ["sweep"]

TASKS_PER_CPU = 8
"""Tasks that a processor does one after another, if there are runs enough: so none waits long for the last."""

MAX_BATCH = 64
"""Most runs of a task that is not told how many."""


@functools.lru_cache(maxsize=4)
def _experiment(
    place: str, text: str, overrides: tuple[str, ...], axes: tuple[str, ...]
) -> _slotcast.Experiment:
    """The experiment, which a worker reads once."""
    return _slotcast.Experiment(place, text, list(overrides), list(axes))


def _work(source: tuple[Any, ...], runs: list[tuple[int, int]]) -> list[bytes]:
    experiment = _experiment(*source)
    return [experiment.run(point, seed) for point, seed in runs]


def sweep(
    config: Mapping[str, Any] | str | os.PathLike[str],
    *,
    axes: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    retries: int = 5,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
) -> SweepResult:
    """Runs every point of a sweep with every seed on the workers of a Ray cluster, as ``slotcast.sweep`` does on
    the cores of one machine.

    Without ``ray.init`` before, Ray connects to the cluster that ``RAY_ADDRESS`` names, or starts one on this machine.
    Every worker must have the same build of slotcast.

    ``batch`` is the number of runs of a task. A task whose worker dies is done again, at most ``retries`` times; how many
    were is in the result as ``lost``. ``options`` are those of a task of Ray, as ``{"num_cpus": 1}``. The rest is as for
    ``slotcast.sweep``; with ``out``, a sweep that was stopped goes on from there, be it with Ray or without.
    """
    place, text = _source(config)
    texts, swept = _overrides(set, seeds), _axes(axes)
    experiment = _slotcast.Experiment(place, text, texts, swept)
    if not force:
        experiment.check_cost(1, False)
    if text is None:
        with open(place, encoding="utf-8") as file:
            text = file.read()
    source = (place, text, tuple(texts), tuple(swept))
    if not ray.is_initialized():
        ray.init()
    with tempfile.TemporaryDirectory(prefix="slotcast-") as nowhere:
        runs = _slotcast.Sweep(experiment, os.fspath(nowhere if out is None else out))
        try:
            tasks = _batches(runs.missing(), batch)
            lost = _spread(runs, source, tasks, retries, dict(options or {}))
            result = SweepResult(*runs.found())
            _, result.reused = runs.counts()
            result.lost = lost
        finally:
            runs.close()
    return result


def _batches(missing: list[tuple[int, int]], batch: int | None) -> list[list[tuple[int, int]]]:
    if batch is None:
        cpus = int(ray.cluster_resources().get("CPU", 1)) or 1
        batch = min(max(1, len(missing) // (TASKS_PER_CPU * cpus)), MAX_BATCH)
    if batch < 1:
        raise ValueError(f"batch: expected at least one run, not {batch}")
    return [missing[first : first + batch] for first in range(0, len(missing), batch)]


def _spread(
    runs: _slotcast.Sweep,
    source: tuple[Any, ...],
    tasks: list[list[tuple[int, int]]],
    retries: int,
    options: dict[str, Any],
) -> int:
    """Has every task done, and keeps what each found as soon as it ends; the number of those that died."""
    # Ray would do a task again by itself, and not say so.
    remote = ray.remote(_work).options(**{"num_cpus": 1, **options, "max_retries": 0})
    shared = ray.put(source)
    under_way = {remote.remote(shared, task): (task, 0) for task in tasks}
    lost = 0
    try:
        while under_way:
            done, _ = ray.wait(list(under_way), num_returns=1)
            task, deaths = under_way.pop(done[0])
            try:
                lines = ray.get(done[0])
            except ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, Exception) else error
            except ray.exceptions.RayError as error:
                # Its worker or its machine died, or what it had found was lost with them.
                lost += 1
                if deaths >= retries:
                    message = f"a task of {len(task)} runs died {deaths + 1} times: {error}"
                    raise RuntimeError(message) from error
                under_way[remote.remote(shared, task)] = (task, deaths + 1)
                continue
            for line in lines:
                runs.keep(line)
    finally:
        for task in under_way:
            ray.cancel(task, recursive=False)
    return lost
