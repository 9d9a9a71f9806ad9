"""Runs that are killed, stopped, starved of disk and disturbed: nothing is lost.

Every fault comes at a random moment. KLEENE_FAULTS says how often each is tried; `make faults`
tries each twenty times.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGHUP, SIGKILL, SIGTERM

import pytest
from bench import CHECKPOINT, Bench, open_bench, weights
from room import can_mount, small_room

from kleene.errors import ModelError
from kleene.model import Model
from kleene.model_folder import FILES

TIMES = int(os.environ.get("KLEENE_FAULTS", "1"))
ENOUGH = 1024  # pages of a disk
LAST_ACTS = 45  # acts on files in the final write
again = pytest.mark.parametrize("time_", range(TIMES))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_bench(tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.fixture
def out(bench: Bench) -> Iterator[Path]:
    """A folder that nothing was trained into yet."""
    bench.made += 1
    folder = bench.folder / f"run-{bench.made}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def model_in(folder: Path) -> bytes:
    return Model.load(folder).to_files()["model.safetensors"]


@again
@pytest.mark.parametrize("kind", ["plain", pytest.param("taught", marks=pytest.mark.slow)])
def test_killed_at_random_moments_and_resumed_after_each(
    bench: Bench, out: Path, kind: str, time_: int
) -> None:
    for number in range(int(bench.random.integers(1, 4))):
        outcome = bench.hurt(out, SIGKILL, *(["--resume"] if number else []), kind=kind)
        assert outcome.status in (-SIGKILL, 0), outcome
        bench.check_state(out, kind)
    bench.end_well(out, kind)


def killed_in_the_final_write(bench: Bench, out: Path, command: tuple[object, ...]) -> None:
    """Kill a run just before one of its last acts on the files of the folder."""
    count = bench.folder / "count"
    shutil.copytree(out, bench.folder / "before", dirs_exist_ok=True)
    bench.forker.run(*command, folder=str(out), count=str(count))
    shutil.rmtree(out)
    shutil.move(bench.folder / "before", out)
    acts = int(count.read_text())
    at = int(bench.random.integers(max(acts - LAST_ACTS, 1), acts + 1))
    outcome = bench.forker.run(*command, folder=str(out), die_at=at)
    assert outcome.status == -SIGKILL, f"act {at} of {acts} did not kill: {outcome}"


@again
def test_killed_in_the_final_write(bench: Bench, out: Path, time_: int) -> None:
    out.mkdir()
    killed_in_the_final_write(bench, out, bench.command(out))
    bench.check_state(out)
    bench.end_well(out)


@again
def test_killed_while_a_newer_model_takes_the_place_of_an_older_one(
    bench: Bench, out: Path, time_: int
) -> None:
    shutil.copytree(bench.reference(), out)
    older = weights(out)
    killed_in_the_final_write(bench, out, bench.command(out, "--overwrite", "--seed", "1"))
    try:
        found = model_in(out)
    except ModelError as error:  # killed between two renames: do as the message says
        for name in re.findall(r"\S+\.tmp", str(error)):
            (out / name).rename(out / name[1:-13])  # a dot, and .TOKEN.tmp
        found = model_in(out)
    assert found == older or not (out / CHECKPOINT).exists()


@again
def test_a_cut_checkpoint_is_refused_and_all_else_stays(
    bench: Bench, out: Path, time_: int
) -> None:
    shutil.copytree(bench.reference(), out)
    while not (out / CHECKPOINT).exists():
        bench.hurt(out, SIGTERM, "--overwrite")
    path = out / CHECKPOINT
    path.write_bytes(path.read_bytes()[: int(bench.random.integers(path.stat().st_size))])
    before = contents(out)
    outcome = bench.forker.run(*bench.command(out, "--resume"))
    assert outcome.one_clear_line, outcome
    assert CHECKPOINT in outcome.err
    assert contents(out) == before
    assert model_in(out) == weights(bench.reference())


def contents(folder: Path) -> dict[str, bytes]:
    """What matters in a folder: not the note of a run, nor what dead processes left behind."""
    found = (path for path in folder.iterdir() if path.suffix != ".tmp" and path.name != "run.json")
    return {path.name: path.read_bytes() for path in found}


@again
def test_a_cut_file_of_a_model_is_refused(bench: Bench, out: Path, time_: int) -> None:
    shutil.copytree(bench.reference(), out)
    path = out / str(bench.random.choice(FILES))
    path.write_bytes(path.read_bytes()[: int(bench.random.integers(path.stat().st_size))])
    outcome = bench.forker.run("predict", out, bench.data)
    assert outcome.one_clear_line, outcome
    assert path.name in outcome.err


# -- disks -----------------------------------------------------------------------------------------


@pytest.fixture
def disk(bench: Bench) -> Callable[[int], object]:
    """A disk of so many pages."""
    if not can_mount(bench.folder / "room"):
        pytest.skip("this user may not mount a small disk")
    return lambda pages: small_room(bench.folder / "room", pages)


@again
def test_a_disk_too_small_for_the_run(
    bench: Bench, disk: Callable[[int], object], time_: int
) -> None:
    with disk(int(bench.random.integers(1, 14))) as room:
        outcome = bench.forker.run(*bench.command(room.folder / "model"))
        no_space(outcome)
        room.resize(ENOUGH)
        bench.end_well(room.folder / "model")


@pytest.mark.slow
@again
def test_somebody_else_fills_the_disk(
    bench: Bench, disk: Callable[[int], object], time_: int
) -> None:
    bench.reference()
    with disk(ENOUGH) as room:
        child = bench.forker.start(*bench.command(room.folder / "model"))
        time.sleep(float(bench.random.uniform(0, bench.seconds["plain"])))
        filler = room.fill()
        no_space(child.wait())
        bench.check_state(room.folder / "model")
        filler.unlink()
        bench.end_well(room.folder / "model")


def no_space(outcome: object) -> None:
    assert not outcome.status or (outcome.one_clear_line and "No space left" in outcome.err)


@pytest.mark.slow
@again
def test_files_that_may_not_grow(bench: Bench, out: Path, time_: int) -> None:
    outcome = bench.forker.run(
        *bench.command(out), largest_file=int(bench.random.integers(1, 8000))
    )
    assert not outcome.status or outcome.one_clear_line, outcome
    bench.check_state(out)
    bench.end_well(out)


def test_a_read_only_folder(bench: Bench, disk: Callable[[int], object]) -> None:
    with disk(ENOUGH) as room:
        out = room.folder / "model"
        shutil.copytree(bench.reference(), out)
        room.freeze(frozen=True)
        for place in (out, room.folder / "new"):
            outcome = bench.forker.run(*bench.command(place, "--overwrite"))
            assert outcome.one_clear_line, outcome
            assert "Read-only" in outcome.err
        assert bench.forker.run("predict", out, bench.data).status == 0
        room.freeze(frozen=False)


# -- disturbances ----------------------------------------------------------------------------------


@again
@pytest.mark.parametrize("signum", [SIGTERM, SIGHUP])
def test_stopped_by_a_signal(bench: Bench, out: Path, signum: int, time_: int) -> None:
    outcome = bench.hurt(out, signum)
    told = outcome.one_clear_line and "interrupted" in outcome.err
    before_training = outcome.status == -signum  # nothing has begun that could be kept
    assert told or before_training or not outcome.status, outcome
    bench.check_state(out)
    bench.end_well(out)


@again
def test_the_clocks_jump(bench: Bench, out: Path, time_: int) -> None:
    bench.hurt(out, SIGKILL, clock=int(bench.random.integers(2**31)))
    more = bench.command(out, "--resume")
    assert not bench.forker.run(*more, clock=int(bench.random.integers(2**31))).status
    bench.end_well(out)


@pytest.mark.slow
@again
@pytest.mark.parametrize("more", [(), ("--resume",), ("--overwrite",)])
def test_two_processes_train_into_one_folder(
    bench: Bench, out: Path, more: tuple[str, ...], time_: int
) -> None:
    """One is told so, the other is not disturbed."""
    other = bench.other  # ready before the first begins
    first = bench.forker.start(*bench.command(out))
    if bench.random.random() < 0.5:
        while not (out / "run.json").exists():
            time.sleep(0.005)
    for outcome in (other.run(*bench.command(out, *more)), first.wait()):
        refused = outcome.one_clear_line and "another process" in outcome.err
        assert refused or outcome.status == 0, outcome
    bench.end_well(out)


@pytest.mark.slow
@again
@pytest.mark.parametrize("nohup", [False, True])
def test_the_terminal_closes(bench: Bench, out: Path, nohup: bool, time_: int) -> None:
    """A progress bar is on it; told to outlive it, a run does."""
    bench.reference()
    master, slave = pty.openpty()
    child = bench.forker.start(*bench.command(out), terminal=os.ttyname(slave), nohup=nohup)
    time.sleep(float(bench.random.uniform(0.2, 1) * bench.seconds["plain"]))
    os.close(slave)
    os.close(master)
    outcome = child.wait()
    assert outcome.status in (0, 2, -SIGHUP), outcome
    assert not nohup or (out / "config.json").exists(), outcome
    bench.check_state(out)
    bench.end_well(out)
