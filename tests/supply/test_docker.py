"""The image: built and run where Docker's engine answers, and read everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from environments import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [
        name
        for line in re.findall(r"^COPY (.*) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    ]
    assert "src" in copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored


def test_the_image_serves_as_nobody_special() -> None:
    assert re.search(r"^USER (?!root)\w+$", DOCKERFILE, re.MULTILINE)
    assert "KLEENE_TOKEN" in DOCKERFILE


def test_the_kernels_are_compiled_where_the_server_may_use_them() -> None:
    """Numba ignores a cache that its user cannot write."""
    user, warm = DOCKERFILE.index("\nUSER "), DOCKERFILE.index("\nRUN kleene demo")
    assert user < warm
    assert DOCKERFILE.index("ENV NUMBA_CACHE_DIR=") < warm


def engine() -> bool:
    docker = shutil.which("docker")
    return (
        docker is not None
        and not subprocess.run([docker, "info"], capture_output=True, timeout=60).returncode
    )


@pytest.mark.slow
def test_the_image_is_built_and_runs() -> None:
    if not engine():
        pytest.skip("no engine of Docker answers")
    subprocess.run(["docker", "build", "--tag", "kleene-test", str(ROOT)], check=True)
    run = ["docker", "run", "--rm", "kleene-test", "--version"]
    assert "kleene" in subprocess.run(run, check=True, capture_output=True, text=True).stdout
