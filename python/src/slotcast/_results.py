"""Results: the JSON of the command line, as objects and tables."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

from . import _slotcast
from ._frames import Frame, table_html

TIMES = frozenset({"wall_time_s", "events_per_s"})
"""What differs each time that the same is run."""


class Estimate(NamedTuple):
    """A figure over all seeds."""

    value: float | None
    """None where nothing could be measured."""
    ci95: float | None
    """Half the width of the 95 % confidence interval; None for a single seed."""
    unit: str

    def __float__(self) -> float:
        return float("nan") if self.value is None else self.value

    def __str__(self) -> str:
        value = "-" if self.value is None else f"{self.value:.4g}"
        if self.value is not None and abs(self.value) >= 1000:
            value = f"{self.value:.0f}"
        width = "" if self.ci95 is None else f" ± {self.ci95:.2g}"
        return f"{value}{width} {self.unit}".rstrip()


def without_times(report: Any) -> Any:
    """``report`` without what differs each time that the same is run."""
    if isinstance(report, dict):
        return {key: without_times(value) for key, value in report.items() if key not in TIMES}
    if isinstance(report, list):
        return [without_times(value) for value in report]
    return report


class Report:
    """What was found, with what it takes to find it again: version, settings, seeds, trace hash."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.report: dict[str, Any] = json.loads(text)
        """Everything, by the names of docs/simulate/json.md."""

    @property
    def version(self) -> str:
        """The version of slotcast that found it."""
        return self.report["version"]

    def to_json(self, *, times: bool = True) -> str:
        """The text that ``--json`` writes. Without ``times`` it is the same, byte by byte, each time that the same
        is run, on any machine and with any number of threads or workers."""
        if times:
            return self._text
        return json.dumps(without_times(self.report), indent=2, ensure_ascii=False)

    def save(self, path: Any, *, times: bool = True) -> None:
        """Writes the JSON to ``path``, for ``slotcast compare`` among others."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json(times=times) + "\n")


class Point:
    """One choice of settings, and what was found for it."""

    def __init__(self, report: dict[str, Any], units: dict[str, str], findings: Any, index: int):
        self.report = report
        """Everything, by the names of docs/simulate/json.md."""
        self.index = index
        """Its place among the points."""
        self._findings = findings
        self.metrics: dict[str, Estimate] = dict(_estimates(report["metrics"], units))
        """Figures over the seeds by name, as ``latency_us.p99``."""

    @property
    def sweep(self) -> dict[str, str]:
        """The swept settings; empty without a sweep."""
        return self.report.get("sweep", {})

    @property
    def settings(self) -> dict[str, str]:
        """Every setting, in the words of an experiment file."""
        return self.report["configuration"]

    @property
    def changed(self) -> dict[str, str]:
        """The settings that are not their defaults, seeds among them: ``simulate({}, set=point.changed)`` does the same
        runs again."""
        defaults = _slotcast.defaults()
        return {key: value for key, value in self.settings.items() if value != defaults.get(key)}

    @property
    def counts(self) -> dict[str, int]:
        """What happened in all runs together, warm-up included."""
        return self.report["counts"]

    @property
    def runs(self) -> Frame:
        """A row for each run: seed, events, trace hash and every metric."""
        return _runs(self.report["runs"])

    @property
    def samples(self) -> Frame:
        """A row for every request that counts in the metrics: seed, latency, operation, and unless it comes from a
        sweep when it was asked for and ended."""
        if self._findings is None:
            raise ValueError("the samples were not kept: call `simulate` with `samples=True`")
        return Frame(self._findings.samples(self.index))

    def series(self, seed: int | None = None, *, bins: int = 200) -> Frame:
        """Disks and links over time, in equal bins: the first seed's run, or that with ``seed``, done once more."""
        if self._findings is None:
            raise ValueError("the runs were not kept: call `simulate` with `samples=True`")
        seed = self.report["runs"][0]["seed"] if seed is None else seed
        return Frame(self._findings.series(self.index, seed, bins))

    def _repr_html_(self) -> str:
        rows = [(name, str(estimate)) for name, estimate in self.metrics.items()]
        return table_html(["metric", "value ± 95 % interval"], rows, len(rows))

    def __repr__(self) -> str:
        swept = " ".join(f"{key}={value}" for key, value in self.sweep.items())
        return f"<slotcast.Point {swept or 'without a sweep'}>"


class SimResult(Report):
    """What ``simulate`` and ``sweep`` find."""

    def __init__(self, text: str, findings: Any) -> None:
        super().__init__(text)
        definitions = self.report["metric_definitions"]
        units = {metric["name"]: metric["unit"] for metric in definitions}
        points = self.report.get("points", [self.report])
        self.points = [Point(point, units, findings, i) for i, point in enumerate(points)]
        """Every point of the sweep; one without a sweep."""

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.report["name"]

    @property
    def seeds(self) -> list[int]:
        """Every seed."""
        return self.report["seeds"]

    @property
    def trace_hash(self) -> str:
        """A hash over every event of every run, in hexadecimal."""
        return self.report["trace_hash"]

    @property
    def events(self) -> int:
        """Events of all runs."""
        return self.report["events"]

    @property
    def point(self) -> Point:
        """The one point of an experiment without a sweep."""
        if len(self.points) != 1:
            raise ValueError(f"there are {len(self.points)} points: choose one of `points`")
        return self.points[0]

    @property
    def metrics(self) -> dict[str, Estimate]:
        """The metrics of the one point."""
        return self.point.metrics

    @property
    def settings(self) -> dict[str, str]:
        """Every setting of the one point."""
        return self.point.settings

    @property
    def changed(self) -> dict[str, str]:
        """The settings of the one point that are not their defaults."""
        return self.point.changed

    @property
    def samples(self) -> Frame:
        """The requests of the one point."""
        return self.point.samples

    def series(self, seed: int | None = None, *, bins: int = 200) -> Frame:
        """Disks and links of the one point over time."""
        return self.point.series(seed, bins=bins)

    @property
    def frame(self) -> Frame:
        """A row for each point: what is swept, and each metric with half the width of its interval."""
        columns: dict[str, Any] = {}
        for key in self.points[0].sweep:
            columns[key] = [point.sweep[key] for point in self.points]
        names = [name for name in self.points[0].metrics]
        for name in names:
            figures = [point.metrics.get(name) for point in self.points]
            columns[name] = array("d", [_number(f and f.value) for f in figures])
            columns[f"{name}.ci95"] = array("d", [_number(f and f.ci95) for f in figures])
        return Frame(columns)

    def to_numpy(self) -> dict[str, Any]:
        """``frame`` as arrays."""
        return self.frame.to_numpy()

    def to_pandas(self) -> Any:
        """``frame`` as a data frame of pandas."""
        return self.frame.to_pandas()

    def to_arrow(self) -> Any:
        """``frame`` as an Arrow table. Its metadata has the version, the seeds and the trace hash."""
        metadata = {
            "slotcast.version": self.version,
            "slotcast.seeds": json.dumps(self.seeds),
            "slotcast.trace_hash": self.trace_hash,
        }
        return self.frame.to_arrow().replace_schema_metadata(metadata)

    def _repr_html_(self) -> str:
        runs = sum(len(point.report["runs"]) for point in self.points)
        about = f"{self.name}: {runs} runs, trace hash {self.trace_hash}, version {self.version}"
        if len(self.points) == 1:
            return f"<p>{escape(about)}</p>{self.points[0]._repr_html_()}"
        swept = list(self.points[0].sweep)
        shown = ["chunks_per_s", "latency_us.mean", "latency_us.p99", "disk_utilization"]
        rows = [
            [point.sweep[key] for key in swept] + [str(point.metrics[name]) for name in shown]
            for point in self.points
        ]
        return f"<p>{escape(about)}</p>{table_html(swept + shown, rows, len(rows))}"

    def __repr__(self) -> str:
        of = f"{len(self.points)} points" if len(self.points) > 1 else "one point"
        return f"<slotcast.{type(self).__name__} {self.name}: {of}, trace hash {self.trace_hash}>"


class SweepResult(SimResult):
    """What ``sweep`` finds."""

    reused: int = 0
    """Runs that were kept from before."""
    lost: int = 0
    """Tasks that were done again because their worker died; only Ray has workers that can."""

    @property
    def axes(self) -> list[dict[str, Any]]:
        """What is swept."""
        return self.report["axes"]

    @property
    def knees(self) -> list[dict[str, Any]]:
        """Where more of an axis stops paying."""
        return self.report["knees"]


class PlanResult(Report):
    """What ``plan`` answers."""

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The answer for each point of the sweep; one without a sweep."""
        return self.report.get("points", [self.report])

    @property
    def holds(self) -> str:
        """``yes``, ``no`` or ``too-close-to-call``, of the only answer."""
        if len(self.answers) != 1:
            raise ValueError(f"there are {len(self.answers)} answers: see `answers`")
        return self.answers[0]["holds"]

    def _repr_html_(self) -> str:
        swept = list(self.answers[0].get("sweep", {}))
        rows = [
            [answer["sweep"][key] for key in swept] + [answer["name"], answer["holds"]]
            for answer in self.answers
        ]
        return table_html([*swept, "cluster", "holds"], rows, len(rows))

    def __repr__(self) -> str:
        return f"<slotcast.PlanResult {', '.join(answer['holds'] for answer in self.answers)}>"


class ReproduceResult(Report):
    """What ``reproduce`` repeats."""

    @property
    def trace_hash(self) -> str:
        """A hash over every event of every run, in hexadecimal."""
        return self.report["trace_hash"]

    @property
    def rows(self) -> Frame:
        """A row for each figure: what was published, and what was measured."""
        rows = self.report["rows"]
        columns: dict[str, Any] = {key: [row[key] for row in rows] for key in ("id", "mode", "unit")}
        for key in ("published", "measured", "deviation_pct", "ci95"):
            columns[key] = array("d", [_number(row[key]) for row in rows])
        return Frame(columns)

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Everything that was judged, and whether it holds."""
        return self.report["claims"]

    @property
    def broken(self) -> list[str]:
        """The claims that must hold and do not."""
        return [c["id"] for c in self.claims if c["certain"] and not c["holds"]]

    def to_pandas(self) -> Any:
        """``rows`` as a data frame of pandas."""
        return self.rows.to_pandas()

    def to_arrow(self) -> Any:
        """``rows`` as an Arrow table."""
        return self.rows.to_arrow()

    def _repr_html_(self) -> str:
        return self.rows._repr_html_()

    def __repr__(self) -> str:
        names = ", ".join(self.report["names"])
        return f"<slotcast.ReproduceResult {names}: trace hash {self.trace_hash}>"


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _estimates(
    metrics: Mapping[str, Any], units: Mapping[str, str], prefix: str = ""
) -> Iterator[tuple[str, Estimate]]:
    for key, value in metrics.items():
        name = prefix + key
        if value is None:
            continue
        if "value" in value:
            yield name, Estimate(value["value"], value["ci95"], units.get(name, _unit(name)))
        else:
            yield from _estimates(value, units, name + ".")


def _unit(name: str) -> str:
    """The unit of a figure that has no interval, and so no definition: a longest latency."""
    return "us" if "_us" in name else ""


def _runs(runs: list[dict[str, Any]]) -> Frame:
    columns: dict[str, Any] = {
        "seed": array("Q", [run["seed"] for run in runs]),
        "events": array("q", [run["events"] for run in runs]),
        "wall_time_s": array("d", [run["wall_time_s"] for run in runs]),
        "trace_hash": [run["trace_hash"] for run in runs],
    }
    names = dict.fromkeys(name for run in runs for name in run["metrics"])
    for name in names:
        columns[name] = array("d", [_number(run["metrics"].get(name)) for run in runs])
    return Frame(columns)
