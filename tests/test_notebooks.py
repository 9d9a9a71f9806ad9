"""The notebooks of the documentation run, from the first cell to the last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "tutorials" / "notebooks").glob("*.ipynb"))
NEEDED = "notebooks need `pip install nbclient ipykernel`"


def test_there_are_six() -> None:
    assert len(NOTEBOOKS) == 6


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of Jupyter's own parts
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason=NEEDED)
    nbclient = pytest.importorskip("nbclient", reason=NEEDED)
    pytest.importorskip("ipykernel", reason=NEEDED)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(path.parents[3] / "src")]))
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, resources=resources).execute()
    executed = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in executed)
