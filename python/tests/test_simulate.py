"""``slotcast.simulate``, and the tables of its results."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import threading
import time

import pytest

import slotcast
from conftest import ROOT
from slotcast._results import without_times

LONG = {"run": {"length": "60s"}, "seeds": {"count": 4}}
"""An experiment that takes minutes."""


def test_dict_text_and_file_are_the_same_experiment(small, tmp_path):
    text = (
        'name = "small"\n[cluster]\ninitiators = 9\ntargets = 9\n'
        '[run]\nlength = "8ms"\nwarmup = "2ms"\n[seeds]\ncount = 2\n'
    )
    path = tmp_path / "small.toml"
    path.write_text(text)
    flat = {
        "name": "small",
        "cluster.initiators": 9,
        "cluster.targets": 9,
        "run": {"length": "8ms", "warmup": "2ms"},
    }
    found = [
        slotcast.simulate(small),
        slotcast.simulate(text, threads=1),
        slotcast.simulate(path),
        slotcast.simulate(str(path)),
        slotcast.simulate(flat, seeds=2),
        slotcast.simulate(flat, seeds=range(1, 3)),
        slotcast.simulate({"name": "small"}, set={**small, "name": "small"}),
    ]
    assert len({result.to_json(times=False) for result in found}) == 1


def test_it_finds_what_the_command_finds(binary, tmp_path):
    out = tmp_path / "out.json"
    file = ROOT / "experiments" / "first.toml"
    options = ["--set", "disk.rate=1000MiB/s", "--seeds", "3", "--json", str(out)]
    subprocess.run([binary, "sim", str(file), *options], check=True, capture_output=True)
    result = slotcast.simulate(file, seeds=3, set={"disk.rate": "1000MiB/s"})
    assert result.report.keys() == (told := json.loads(out.read_text())).keys()
    assert without_times(result.report) == without_times(told)
    result.save(tmp_path / "own.json")
    subprocess.run([binary, "compare", out, tmp_path / "own.json"], check=True, capture_output=True)


def test_a_result_has_what_it_takes_to_find_it_again(small):
    result = slotcast.simulate(small, set={"disk.rate": "8Gbps"})
    assert result.changed["disk.rate"] == "8Gbps" and "disk.queue_limit" not in result.changed
    again = slotcast.simulate({"name": result.name}, set=result.changed)
    assert result.version == slotcast.__version__
    assert again.trace_hash == result.trace_hash
    assert again.to_json(times=False) == result.to_json(times=False)
    metadata = result.to_arrow().schema.metadata
    assert metadata[b"slotcast.trace_hash"].decode() == result.trace_hash


def test_metrics_are_those_of_the_samples(small):
    numpy = pytest.importorskip("numpy")
    result = slotcast.simulate(small, set={"workload.get_share": "30%"})
    latency = result.samples.to_numpy()["latency_ns"] / 1000
    assert result.metrics["latency_us.max"].value == latency.max()
    seed = result.samples.to_numpy()["seed"]
    for run_seed, mean in zip(
        result.point.runs["seed"], result.point.runs["latency_us.mean"], strict=True
    ):
        assert latency[seed == run_seed].mean() == pytest.approx(mean, rel=1e-12)
    assert result.metrics["latency_us.p99"].unit == "us"
    assert result.metrics["latency_us.mean"].ci95 is not None
    is_get = result.samples.to_numpy()["operation"] == 1
    assert 0 < numpy.count_nonzero(is_get) < is_get.size


def test_columns_are_never_copied(small):
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = slotcast.simulate(small).samples
    arrow, data = frame.to_arrow(), frame.to_pandas()
    for name, column in frame.items():
        here = numpy.asarray(column)
        assert not here.flags.owndata and not here.flags.writeable
        place = here.__array_interface__["data"][0]
        assert numpy.asarray(column).__array_interface__["data"][0] == place
        chunk = arrow[name].chunk(0)
        chunk = chunk.indices if name == "operation" else chunk
        assert chunk.buffers()[1].address == place
        if name != "operation":
            assert numpy.shares_memory(data[name].to_numpy(), here)
            assert arrow[name].to_pylist() == here.tolist()
    assert isinstance(data["operation"].dtype, pandas.CategoricalDtype)
    assert set(arrow["operation"].to_pylist()) == {"put"}
    with pytest.raises(TypeError):
        memoryview(frame["seed"])[0] = 1


def test_a_view_keeps_the_memory(small):
    view = memoryview(slotcast.simulate(small).samples["latency_ns"])
    assert view.readonly and view.format == "q" and min(view) > 0
    assert view.nbytes == 8 * len(view)


def test_series_are_columns_over_time(small):
    result = slotcast.simulate(small)
    series = result.series(bins=50)
    assert series.rows == 50 and list(series)[0] == "time_ms"
    assert 0 < max(memoryview(series["disk_utilization_mean"])) <= 1
    with pytest.raises(KeyError):
        result.series(seed=99)
    with pytest.raises(ValueError, match="samples=True"):
        slotcast.simulate(small, samples=False).samples


def test_an_error_says_what_the_command_says(binary, tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text('[disk]\nrate = "5 bananas"\n')
    with pytest.raises(slotcast.SettingsError) as caught:
        slotcast.simulate(file)
    error = caught.value
    told = subprocess.run([binary, "sim", str(file)], capture_output=True, text=True)
    assert str(error).strip() == told.stderr.strip()
    assert (error.line, error.key, error.value) == (2, "disk.rate", '"5 bananas"')
    assert "expected a rate" in error.expected
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.key) == (str(error), 2, "disk.rate")


@pytest.mark.parametrize(
    ("config", "options", "key", "remedy"),
    [
        ({"cluster": {"targetz": 9}}, {}, "cluster.targetz", "did you mean `cluster.targets`?"),
        ({}, {"set": {"cluster.targets": "x"}}, "cluster.targets", None),
        ({}, {"seeds": [1, 3]}, "seeds", None),
        ({"cluster": {"initiators": 9000, "targets": 9000}}, {"set": {"run.length": "1000s"}}, None, "--force"),
        ("no-such.toml", {}, None, "expected the path"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_runs(config, options, key, remedy):
    with pytest.raises(slotcast.SettingsError) as caught:
        slotcast.simulate(config, **options)
    assert caught.value.key == key
    assert remedy is None or remedy in str(caught.value)


def test_other_things_are_no_settings():
    with pytest.raises(TypeError):
        slotcast.simulate(7)
    with pytest.raises(TypeError):
        slotcast.simulate({"cluster": {"targets": None}})


def test_ctrl_c_ends_a_run_soon():
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        slotcast.simulate(LONG, force=True)
    assert time.monotonic() - start < 20, "the experiment takes minutes"


def test_other_threads_run_meanwhile():
    counted, end = 0, threading.Event()

    def count():
        nonlocal counted
        while not end.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    slotcast.simulate({"run": {"length": "300ms"}}, seeds=1, threads=1)
    end.set()
    thread.join()
    assert counted > 10


def test_notebooks_show_tables_and_no_markup_of_others(small):
    result = slotcast.simulate({**small, "name": "<b>bold</b>"})
    html = result._repr_html_()
    assert "&lt;b&gt;bold" in html and "<b>" not in html
    assert "latency_us.p99" in html and result.trace_hash in html
    assert "color" not in html and len(html) < 10_000
    shown = result.samples._repr_html_()
    assert shown.count("<tr>") == 11 and "more rows" in shown
    assert "put" in shown
