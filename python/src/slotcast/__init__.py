"""Simulate, sweep and plan storage clusters, and repeat published evaluations.

``simulate``, ``sweep``, ``plan`` and ``reproduce`` take the same settings as the command ``slotcast``, and find the same
to the last bit. They hold no lock while they run, and Ctrl-C ends them. ``slotcast.ray.sweep`` spreads a sweep over a
Ray cluster.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _slotcast
from ._errors import SettingsError
from ._frames import Frame
from ._results import (
    Estimate,
    PlanResult,
    Point,
    Report,
    ReproduceResult,
    SimResult,
    SweepResult,
)
from ._settings import axes as _axes
from ._settings import overrides as _overrides
from ._settings import source as _source

__all__ = [
    "Estimate",
    "Frame",
    "PlanResult",
    "Point",
    "Report",
    "ReproduceResult",
    "SettingsError",
    "SimResult",
    "SweepResult",
    "plan",
    "reproduce",
    "simulate",
    "sweep",
]

__version__: str = _slotcast.VERSION


def simulate(
    config: Mapping[str, Any] | str | os.PathLike[str],
    *,
    seeds: int | Iterable[int] | None = None,
    set: Mapping[str, Any] | None = None,
    threads: int | None = None,
    samples: bool = True,
    force: bool = False,
) -> SimResult:
    """Runs an experiment: every point of its sweep with every seed, as ``slotcast sim``.

    ``config`` is a dict, TOML text or the path of a file. ``seeds`` is a number of seeds, or seeds one after another such
    as ``range(1, 21)``. ``set`` has settings that go before those of ``config``, as ``{"disk.rate": "1000MiB/s"}``. Without
    ``threads`` there is one per core; the result does not depend on it. ``samples=False`` keeps no single request, which
    saves memory. ``force`` runs what is estimated to take too much.
    """
    place, text = _source(config)
    experiment = _slotcast.Experiment(place, text, _overrides(set, seeds), [])
    if not force:
        experiment.check_cost(threads, True)
    report, findings = experiment.simulate(threads, samples)
    return SimResult(report, findings if samples else None)


def sweep(
    config: Mapping[str, Any] | str | os.PathLike[str],
    *,
    axes: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    force: bool = False,
) -> SweepResult:
    """Runs every point of a sweep and names the knees, as ``slotcast sweep``.

    ``axes`` are keys that vary, each over a list of values or text such as ``1..64*2``. ``out`` is the folder in which
    finished runs are kept: the same call goes on where it was stopped. Without ``out`` nothing is kept. The rest is as
    for ``simulate``.
    """
    place, text = _source(config)
    experiment = _slotcast.Experiment(place, text, _overrides(set, seeds), _axes(axes))
    if not force:
        experiment.check_cost(threads, False)
    with tempfile.TemporaryDirectory(prefix="slotcast-") as nowhere:
        runs = _slotcast.Sweep(experiment, os.fspath(nowhere if out is None else out))
        try:
            runs.run(threads)
            result = SweepResult(*runs.found())
            _, result.reused = runs.counts()
        finally:
            runs.close()
    return result


def plan(
    cluster: Mapping[str, Any] | str | os.PathLike[str],
    *,
    axes: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    quick: bool = False,
    seed: int = 1,
    threads: int | None = None,
    force: bool = False,
) -> PlanResult:
    """Says whether a cluster holds its load, with what headroom, and what limits it, as ``slotcast plan``.

    ``cluster`` is a dict, TOML text, the path of a file, or the name of a cluster that comes with the program, such as
    ``small``. ``quick`` means shorter and fewer runs, which start at ``seed``.
    """
    place, text = _source(cluster)
    answer = _slotcast.plan(
        place,
        text,
        _overrides(set, None),
        _axes(axes),
        quick=quick,
        seed=seed,
        threads=threads,
        force=force,
    )
    return PlanResult(answer)


def reproduce(
    names: str | Sequence[str] = (),
    *,
    all: bool = False,
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    threads: int | None = None,
    force: bool = False,
) -> ReproduceResult:
    """Repeats published evaluations, as ``slotcast reproduce``.

    Without ``names`` these are the ones that were published as a whole, or ``all``. Claims that must hold and do not are
    in ``broken``.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    texts = _overrides(set, seeds)
    report = _slotcast.reproduce(wanted, all=all, overrides=texts, threads=threads, force=force)
    return ReproduceResult(report)
