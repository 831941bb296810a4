"""``slotcast.ray.sweep``, on a real cluster of two workers on this machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

import slotcast

ray = pytest.importorskip("ray")

from slotcast.ray import sweep  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

AXES = {"workload.window": [1, 2, 4], "disk.rate": ["400MiB/s", "1GB/s"]}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False)
    yield
    ray.shutdown()


def workers() -> list[int]:
    """Processes of this cluster that are at a task."""
    parents, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(
                line.split(":\t", 1) for line in (folder / "status").read_text().splitlines()
            )
            names[int(folder.name)] = (folder / "cmdline").read_bytes()
            parents[int(folder.name)] = int(status["PPid"])
        except (OSError, ValueError, KeyError):
            continue

    def is_ours(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return [p for p, name in names.items() if name.startswith(b"ray::_work") and is_ours(p)]


def test_a_cluster_gives_the_bytes_of_one_machine(small):
    here = slotcast.sweep(small, axes=AXES)
    there = sweep(small, axes=AXES, batch=2)
    assert there.to_json(times=False) == here.to_json(times=False)
    assert there.lost == 0
    for a, b in zip(here.points, there.points, strict=True):
        for name in a.samples:
            assert bytes(memoryview(a.samples[name])) == bytes(memoryview(b.samples[name]))


def test_a_killed_worker_costs_its_points_only(tmp_path):
    config = {"name": "killed", "run": {"length": "60ms"}, "seeds": {"count": 3}}
    killed: list[int] = []

    def kill_one():
        runs = tmp_path / "runs.jsonl"
        while not killed:
            there = workers()
            if there and runs.exists() and runs.read_bytes().count(b"\n") >= 4:
                try:
                    os.kill(there[0], signal.SIGKILL)
                    killed.append(there[0])
                except ProcessLookupError:
                    continue
            time.sleep(0.01)

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    there = sweep(config, axes=AXES, batch=2, out=tmp_path)
    thread.join(timeout=10)
    assert len(killed) == 1
    assert there.lost == 1, "the task of the worker, and no other"
    lines = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 18, "every run is there once"
    here = slotcast.sweep(config, axes=AXES)
    assert there.to_json(times=False) == here.to_json(times=False)


def test_a_sweep_goes_on_with_ray_or_without(small, tmp_path):
    first = sweep(small, axes=AXES, seeds=1, out=tmp_path)
    assert first.reused == 0
    second = slotcast.sweep(small, axes=AXES, out=tmp_path)
    assert second.reused == 6
    third = sweep(small, axes=AXES, seeds=3, out=tmp_path)
    assert third.reused == 12
    assert third.to_json(times=False) == slotcast.sweep(small, axes=AXES, seeds=3).to_json(times=False)


def test_what_is_wrong_is_refused_before_anything_is_spread(small):
    with pytest.raises(slotcast.SettingsError, match="targetz"):
        sweep(small, axes=AXES, set={"cluster.targetz": 1})
    with pytest.raises(slotcast.SettingsError, match="sweeps nothing"):
        sweep(small)
    with pytest.raises(ValueError, match="batch"):
        sweep(small, axes=AXES, batch=0)


def test_a_task_that_always_dies_ends_the_sweep(small, monkeypatch):
    monkeypatch.setattr("slotcast.ray._work", lambda source, runs: os._exit(1))
    with pytest.raises(RuntimeError, match="died 2 times"):
        sweep(small, axes=AXES, retries=1, batch=100)
