"""Each fault a few times; `harness.py` beside this file does it hundreds of times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trials
from bench import Bench, Tally, open_bench
from room import can_mount


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_bench(tmp_path_factory.mktemp("faults")) as found:
        yield found


def nothing_is_lost(bench: Bench, trial: trials.Trial, times: int = 1) -> Tally:
    tally = Tally()
    for _ in range(times):
        trial(bench, tally)
    assert not tally.failures
    return tally


@pytest.mark.parametrize(
    "trial",
    [trials.killed_at_random, trials.killed_in_the_final_write, trials.stopped, trials.clock_jumps],
)
def test_a_run_that_was_hurt_goes_on_to_the_same_bits(bench: Bench, trial: trials.Trial) -> None:
    assert nothing_is_lost(bench, trial).counts["resumes bit-identical"]


def test_a_model_is_replaced_by_a_whole_one(bench: Bench) -> None:
    nothing_is_lost(bench, trials.killed_while_replacing_a_model)


def test_cut_files_are_refused(bench: Bench) -> None:
    nothing_is_lost(bench, trials.cut_checkpoint)
    nothing_is_lost(bench, trials.cut_model, times=2)


def test_a_disk_that_fills(bench: Bench, tmp_path: Path) -> None:
    mount = can_mount(tmp_path / "room")
    trial = trials.disk_too_small if mount else trials.file_too_large
    for _ in range(10):  # the room is of a random size, which may be enough
        if nothing_is_lost(bench, trial).counts["disk-full runs"]:
            return
    pytest.fail("no disk was too small")


def test_a_read_only_folder(bench: Bench, tmp_path: Path) -> None:
    if not can_mount(tmp_path / "room"):
        pytest.skip("this user may not mount a small disk")
    nothing_is_lost(bench, trials.read_only)


@pytest.mark.slow
@pytest.mark.parametrize(
    "trial",
    [
        trials.two_at_once,
        trials.terminal_closes,
        trials.killed_at_random_while_consolidating,
        trials.file_too_large,
    ],
)
def test_rarer_faults(bench: Bench, trial: trials.Trial) -> None:
    nothing_is_lost(bench, trial, times=2)
