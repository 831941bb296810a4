"""The package as a whole: types, words, and the notebook."""

from __future__ import annotations

import ast
import inspect
import os
import tomllib
from pathlib import Path

import pytest

import slotcast
from conftest import ROOT
from slotcast import _slotcast

FOLDER = Path(slotcast.__file__).parent


def test_the_version_is_that_of_the_workspace():
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    assert slotcast.__version__ == workspace["package"]["version"]
    assert f"version: {slotcast.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_everything_public_is_described_and_has_types():
    for name in slotcast.__all__:
        shown = getattr(slotcast, name)
        assert inspect.getdoc(shown), name
        if inspect.isfunction(shown):
            signature = inspect.signature(shown)
            assert signature.return_annotation is not inspect.Signature.empty
            for parameter in signature.parameters.values():
                assert parameter.annotation is not inspect.Parameter.empty, f"{name}: {parameter}"


def test_the_stubs_are_those_of_the_extension():
    stubs = ast.parse((FOLDER / "_slotcast.pyi").read_text())
    assert (FOLDER / "py.typed").exists()
    known = set()
    for node in stubs.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            known.add(node.name)
        if isinstance(node, ast.AnnAssign):
            known.add(node.target.id)
        if isinstance(node, ast.ClassDef):
            there = {n for n in vars(getattr(_slotcast, node.name)) if not n.startswith("__")}
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
            assert there == {n.name for n in methods if not n.name.startswith("__")}, node.name
        if isinstance(node, ast.FunctionDef):
            there = inspect.signature(getattr(_slotcast, node.name)).parameters
            arguments = [a.arg for a in node.args.args + node.args.kwonlyargs]
            assert list(there) == arguments, node.name
    assert known == {name for name in vars(_slotcast) if not name.startswith("__")}


def test_the_notebook_repeats_the_tables(monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    monkeypatch.setenv("SLOTCAST_SEEDS", "1")
    place = str(FOLDER.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([place, os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(ROOT / "python/notebooks/replicast.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = "".join(
        output.get("data", {}).get("text/html", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    )
    for words in ("replicast-m", "replicast-h", "uch-ccp", "published", "measured"):
        assert words in shown, words
