"""What the tests share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SMALL = {
    "name": "small",
    "cluster": {"initiators": 9, "targets": 9},
    "run": {"length": "8ms", "warmup": "2ms"},
    "seeds": {"count": 2},
}
"""An experiment that takes milliseconds."""

SWEPT = {**SMALL, "sweep": [{"workload.window": [1, 2, 4]}]}


@pytest.fixture
def small() -> dict:
    return dict(SMALL)


@pytest.fixture
def swept() -> dict:
    return dict(SWEPT)


@pytest.fixture(scope="session")
def binary() -> str:
    """The command of the same build."""
    found = os.environ.get("SLOTCAST_BINARY") or shutil.which("slotcast")
    if found is None:
        pytest.skip("no `slotcast` to compare with: name it in SLOTCAST_BINARY")
    return found
