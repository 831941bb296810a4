"""``slotcast.plan`` and ``slotcast.reproduce``."""

from __future__ import annotations

import json
import subprocess

import pytest

import slotcast
from slotcast._results import without_times

CLUSTER = {
    "nodes": {"count": 9, "link": "10Gbps"},
    "disks": {"kind": "ssd", "rate": "400MiB/s"},
    "data": {"sizes": [{"size": "128KiB", "share": "100%"}]},
    "clients": {"count": 9},
    "target": {"objects_per_s": 5000, "p99": "20ms"},
}


def test_a_plan_is_that_of_the_command(binary, tmp_path):
    out = tmp_path / "out.json"
    command = [binary, "plan", "small", "--quick", "--json", out]
    subprocess.run(command, check=True, capture_output=True)
    answer = slotcast.plan("small", quick=True)
    assert without_times(answer.report) == without_times(json.loads(out.read_text()))


def test_a_plan_is_a_dict_or_a_sweep():
    assert slotcast.plan(CLUSTER, quick=True).holds == "yes"
    both = slotcast.plan(CLUSTER, axes={"target.objects_per_s": [5000, 50_000]}, quick=True)
    assert [answer["holds"] for answer in both.answers] == ["yes", "no"]
    assert "too-close" not in both._repr_html_() and "yes" in both._repr_html_()
    with pytest.raises(slotcast.SettingsError, match="did you mean `small`"):
        slotcast.plan("smal")


def test_an_evaluation_is_repeated():
    pytest.importorskip("numpy")
    found = slotcast.reproduce("choosy", seeds=1)
    rows = found.rows
    assert rows.rows == len(found.report["rows"]) > 10
    measured = memoryview(rows["measured"])
    assert measured.format == "d" and len(measured) == rows.rows
    assert found.claims and isinstance(found.broken, list)
    with pytest.raises(slotcast.SettingsError, match="did you mean `replicast`"):
        slotcast.reproduce(["replicsat"])
