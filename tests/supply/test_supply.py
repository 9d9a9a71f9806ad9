"""What users get: the wheel and the source archive, in an environment that holds nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from environments import CONSTRAINTS, ROOT, build, call, floors, make_environment
from packaging.requirements import Requirement
from packaging.version import Version

PINS = dict(line.split("==") for line in CONSTRAINTS.read_text().split())


def plain(name: str) -> str:
    return name.lower().replace("_", "-")


def test_every_dependency_has_a_floor_that_the_constraints_meet() -> None:
    pins = {plain(name): Version(version) for name, version in PINS.items()}
    for name, floor in floors("dev").items():
        assert pins[plain(name)] >= Version(floor), name


def test_no_dependency_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    every = [project["dependencies"], *project["optional-dependencies"].values()]
    for text in chain.from_iterable(every):
        operators = {one.operator for one in Requirement(text).specifier}
        assert operators <= {">="}, text


def test_what_is_installed_is_what_is_pinned() -> None:
    from importlib.metadata import PackageNotFoundError, version

    for name in floors():
        try:
            found = version(name)
        except PackageNotFoundError:
            pytest.fail(f"{name} is not installed")
        if Path(sys.prefix).parent == ROOT:
            assert Version(found).public == PINS[next(n for n in PINS if plain(n) == plain(name))]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
def test_wheel_and_archive_hold_what_they_must(built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    inside = set(zipfile.ZipFile(wheel).namelist())
    here = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    static = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("static/*")
        if path.is_file()
    }
    assert here | static | {"kleene/py.typed", "kleene/nn/fused/kernels/kernels-any.so"} <= inside
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    assert not [name for name in inside if "test" in name or "__pycache__" in name]
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/kleene/__init__.py"} <= names


@pytest.mark.slow
def test_the_wheel_works_in_a_fresh_environment(built: tuple[Path, Path], tmp_path: Path) -> None:
    programs = make_environment(tmp_path / "venv", f"{built[0]}[all]")
    kleene = programs / "kleene"
    assert call(kleene, "--version", cwd=tmp_path).strip()
    data, model = tmp_path / "data.tsv", tmp_path / "model"
    call(kleene, "sample", "tomita1", "-n", 300, "--lengths", "0:9", "--out", data)
    small = ("--hidden-size", 16, "--embedding-size", 8, "--epochs", 3)
    call(kleene, "train", data, "--out", model, *small, cwd=tmp_path)
    out = tmp_path / "dfa.svg"
    call(kleene, "extract", model, "--data", data, "--out", out, cwd=tmp_path)
    call(kleene, "report", model, data, "--out", tmp_path / "report.html", cwd=tmp_path)
    assert out.read_bytes().startswith(b"<?xml")
    where = call(programs / "python", "-c", "import kleene; print(kleene.__file__)", cwd=tmp_path)
    assert str(tmp_path) in where


@pytest.mark.slow
def test_no_pinned_version_has_a_known_weakness(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-f", "json"]
    done = subprocess.run(
        [*command, "-r", str(CONSTRAINTS)], capture_output=True, text=True, check=False
    )
    if not done.stdout.strip():
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        pytest.skip(f"pip-audit gave no answer, perhaps it is not installed: {reason[:150]}")
    packages = json.loads(done.stdout)["dependencies"]
    weak = {one["name"]: [v["id"] for v in one["vulns"]] for one in packages if one.get("vulns")}
    assert not weak
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    if unknown:
        pytest.skip(f"pip-audit cannot look up {len(unknown)} of {len(packages)} packages here")
