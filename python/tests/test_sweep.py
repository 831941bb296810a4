"""``slotcast.sweep``."""

from __future__ import annotations

import json
import signal
import subprocess
import threading

import pytest

import slotcast
from slotcast._results import without_times


def test_it_finds_what_the_command_finds(binary, swept, tmp_path):
    file = tmp_path / "swept.toml"
    file.write_text(slotcast._settings.toml(swept))
    out = tmp_path / "out.json"
    command = [binary, "sweep", file, "--axis", "disk.rate=400MiB/s,1GB/s", "--json", out]
    subprocess.run(command, check=True, capture_output=True)
    result = slotcast.sweep(file, axes={"disk.rate": ["400MiB/s", "1GB/s"]})
    assert without_times(result.report) == without_times(json.loads(out.read_text()))
    assert len(result.points) == 6 and len(result.axes) == 2 and result.knees
    assert result.points[1].sweep == {"workload.window": "1", "disk.rate": "8Gbps"}


def test_it_goes_on_where_it_was_stopped(swept, tmp_path):
    whole = slotcast.sweep(swept)
    first = slotcast.sweep(swept, seeds=1, out=tmp_path)
    assert (first.reused, len(first.seeds)) == (0, 1)
    second = slotcast.sweep(swept, out=tmp_path)
    assert second.reused == 3
    assert second.to_json(times=False) == whole.to_json(times=False)
    assert slotcast.sweep(swept, out=tmp_path).reused == 6


def test_ctrl_c_leaves_what_is_finished(tmp_path):
    config = {"run": {"length": "100ms"}, "seeds": {"count": 200}}
    timer = threading.Timer(1.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        slotcast.sweep(config, axes={"workload.window": "1..8"}, out=tmp_path, force=True)
    lines = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert 0 < len(lines) < 1600
    assert all(json.loads(line)["trace_hash"] for line in lines)
    # The folder is free again.
    axes = {"workload.window": [1, 2]}
    assert slotcast.sweep(config, axes=axes, seeds=1, out=tmp_path).reused >= 1


def test_tables_have_a_row_for_each_point(swept):
    pandas = pytest.importorskip("pandas")
    result = slotcast.sweep(swept)
    table = result.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert list(table["workload.window"]) == ["1", "2", "4"]
    assert table["latency_us.p99"][2] == result.points[2].metrics["latency_us.p99"].value
    samples = result.points[0].samples
    assert list(samples) == ["seed", "latency_ns", "operation"]
    assert samples.rows > 0
    assert "workload.window" in result._repr_html_()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "sweeps nothing"),
        ({"statistics": {"precision": "2%"}, "sweep": [{"workload.window": [1, 2]}]}, "single runs"),
    ],
)
def test_what_is_no_sweep_is_refused(config, words):
    with pytest.raises(slotcast.SettingsError, match=words):
        slotcast.sweep(config)
