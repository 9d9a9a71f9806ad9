"""The faults, each a trial on the bench that can be repeated as often as one likes."""

from __future__ import annotations

import os
import pty
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from bench import CHECKPOINT, SIGHUP, SIGKILL, SIGTERM, Bench, Tally, weights
from room import small_room

from kleene.errors import ModelError
from kleene.model import Model
from kleene.model_folder import FILES

ENOUGH = 1024  # pages
Trial = Callable[[Bench, Tally], None]


def killed_at_random(bench: Bench, tally: Tally, kind: str = "plain") -> None:
    """kill -9 at one to nine random moments, resumed after each."""
    out = bench.place()
    for again in range(int(bench.random.integers(1, 10))):
        outcome = bench.hurt(out, SIGKILL, *(["--resume"] if again else []), kind=kind)
        tally.expect(outcome.status in (-SIGKILL, 0), f"{out.name}: {outcome}")
        tally.counts["kills"] += outcome.status == -SIGKILL
        if out.exists():
            bench.check_state(out, tally, kind)
    bench.end_well(out, tally, kind)
    shutil.rmtree(out)


def killed_at_random_while_consolidating(bench: Bench, tally: Tally) -> None:
    """The same for runs that end with the teaching of a machine."""
    killed_at_random(bench, tally, "consolidated")


def killed_in_the_final_write(bench: Bench, tally: Tally) -> None:
    """kill -9 just before one of the last acts on the files of the folder."""
    out, count = bench.place(), bench.folder / "count"
    if not count.exists():
        bench.forker.run(*bench.command(out), folder=str(out), count=str(count))
        shutil.rmtree(out)
    acts = int(count.read_text())
    at = int(bench.random.integers(max(acts - 45, 1), acts + 1))
    outcome = bench.forker.run(*bench.command(out), folder=str(out), die_at=at)
    tally.expect(outcome.status == -SIGKILL, f"act {at} of {acts} did not kill: {outcome}")
    tally.counts["kills"] += 1
    tally.counts["kills in the final write"] += 1
    bench.check_state(out, tally)
    bench.end_well(out, tally)
    shutil.rmtree(out)


def killed_while_replacing_a_model(bench: Bench, tally: Tally) -> None:
    """kill -9 while a newer model takes the place of an older one: one of them is there."""
    out, count = bench.place(), bench.folder / "count-again"
    retrain = bench.command(out, "--overwrite", "--seed", "1")
    shutil.copytree(bench.reference(), out)
    older = weights(out)
    if not count.exists():
        bench.forker.run(*retrain, folder=str(out), count=str(count))
        shutil.copytree(bench.reference(), out, dirs_exist_ok=True)
    acts = int(count.read_text())
    at = int(bench.random.integers(max(acts - 45, 1), acts + 1))
    outcome = bench.forker.run(*retrain, folder=str(out), die_at=at)
    tally.expect(outcome.status == -SIGKILL, f"act {at} of {acts} did not kill: {outcome}")
    tally.counts["kills"] += 1
    tally.counts["kills while replacing a model"] += 1
    try:
        try:
            found = Model.load(out).to_files()["model.safetensors"]
        except ModelError as error:  # killed between two renames: do as the message says
            for name in re.findall(r"\S+\.tmp", str(error)):
                (out / name).rename(out / name[1:-13])  # a dot, and .TOKEN.tmp
            found = Model.load(out).to_files()["model.safetensors"]
        tally.counts["the older model was there"] += found == older
        tally.counts["the newer model was there"] += found != older
    except ModelError as error:
        tally.expect(False, f"act {at} of {acts}: neither model is left: {error}")
    shutil.rmtree(out)


def cut_checkpoint(bench: Bench, tally: Tally) -> None:
    """A checkpoint cut at a random byte is refused; all else in the folder stays as it was."""
    out = bench.folder / "cut-checkpoint"
    if not out.exists():
        shutil.copytree(bench.reference(), out)
        while not (out / CHECKPOINT).exists():
            bench.hurt(out, SIGTERM, "--overwrite")
    path = out / CHECKPOINT
    whole = path.read_bytes()
    cut = int(bench.random.integers(len(whole)))
    path.write_bytes(whole[:cut])
    before = _contents(out)
    outcome = bench.forker.run(*bench.command(out, "--resume"))
    told = outcome.one_clear_line and CHECKPOINT in outcome.err
    tally.expect(told, f"checkpoint cut at {cut} of {len(whole)}: {outcome}")
    after = _contents(out)
    changed = {n for n in before | after if before.get(n) != after.get(n)}
    tally.expect(not changed, f"checkpoint cut at {cut}: {changed} changed")
    bench.check_model(out, tally)
    path.write_bytes(whole)
    tally.counts["truncations"] += 1
    tally.counts["truncated checkpoints"] += 1


def cut_model(bench: Bench, tally: Tally) -> None:
    """A file of the model cut at a random byte is refused."""
    out = bench.folder / "cut-model"
    if not out.exists():
        shutil.copytree(bench.reference(), out)
    name = str(bench.random.choice(FILES))
    whole = (out / name).read_bytes()
    cut = int(bench.random.integers(len(whole)))
    (out / name).write_bytes(whole[:cut])
    outcome = bench.forker.run("predict", out, bench.data)
    told = outcome.one_clear_line and name in outcome.err
    tally.expect(told, f"{name} cut at {cut} of {len(whole)}: {outcome}")
    (out / name).write_bytes(whole)
    bench.check_model(out, tally)
    tally.counts["truncations"] += 1
    tally.counts["truncated model files"] += 1


def disk_too_small(bench: Bench, tally: Tally) -> None:
    """A disk too small for the run: one line; once it is larger, the run goes on."""
    with small_room(bench.folder / "room", int(bench.random.integers(1, 14))) as room:
        out = room.folder / "model"
        outcome = bench.forker.run(*bench.command(out))
        if outcome.status:
            tally.counts["disk-full runs"] += 1
            told = outcome.one_clear_line and "No space left" in outcome.err
            tally.expect(told, f"small disk: {outcome}")
        if out.exists():
            bench.check_state(out, tally)
        room.resize(ENOUGH)
        bench.end_well(out, tally)


def disk_fills(bench: Bench, tally: Tally) -> None:
    """Somebody else fills the disk at a random moment; once there is room, the run goes on."""
    bench.reference()
    with small_room(bench.folder / "room", ENOUGH) as room:
        out = room.folder / "model"
        child = bench.forker.start(*bench.command(out))
        time.sleep(float(bench.random.uniform(0, bench.seconds["plain"])))
        filler = room.fill()
        outcome = child.wait()
        if outcome.status:
            tally.counts["disk-full runs"] += 1
            told = outcome.one_clear_line and "No space left" in outcome.err
            tally.expect(told, f"disk filled: {outcome}")
        if out.exists():
            bench.check_state(out, tally)
        filler.unlink()
        bench.end_well(out, tally)


def file_too_large(bench: Bench, tally: Tally) -> None:
    """The same where nothing can be mounted: the system refuses to let a file grow further."""
    out = bench.place()
    most = int(bench.random.integers(1, 8000))
    outcome = bench.forker.run(*bench.command(out), largest_file=most)
    if outcome.status:
        tally.counts["disk-full runs"] += 1
        tally.expect(outcome.one_clear_line, f"files of {most} bytes at most: {outcome}")
    if out.exists():
        bench.check_state(out, tally)
    bench.end_well(out, tally)
    shutil.rmtree(out)


def read_only(bench: Bench, tally: Tally) -> None:
    """A folder that cannot be written: one line, and the model in it stays and can be used."""
    with small_room(bench.folder / "room", ENOUGH) as room:
        out = room.folder / "model"
        shutil.copytree(bench.reference(), out)
        room.freeze(frozen=True)
        for place in (out, room.folder / "new"):
            outcome = bench.forker.run(*bench.command(place, "--overwrite"))
            told = outcome.one_clear_line and "Read-only" in outcome.err
            tally.expect(told, f"read-only folder: {outcome}")
            tally.counts["read-only runs"] += 1
        tally.expect(bench.forker.run("predict", out, bench.data).status == 0, "predict: read-only")
        room.freeze(frozen=False)


def two_at_once(bench: Bench, tally: Tally) -> None:
    """Two processes train into one folder: one is told so, the other is not disturbed."""
    out, other = bench.place(), bench.other
    first = bench.forker.start(*bench.command(out))
    if bench.random.random() < 0.5:
        while not (out / "run.json").exists():
            time.sleep(0.005)
    more = str(bench.random.choice(["", "--resume", "--overwrite"]))
    second = other.run(*bench.command(out, *([more] if more else [])))
    outcomes = [first.wait(), second]
    tally.counts["pairs of processes in one folder"] += 1
    for outcome in outcomes:
        tally.counts["turned away by the lock"] += outcome.status == 2
        fine = outcome.status == 0 or (outcome.one_clear_line and "another process" in outcome.err)
        tally.expect(fine, f"two at once: {outcome}")
    bench.end_well(out, tally)
    shutil.rmtree(out)


def stopped(bench: Bench, tally: Tally) -> None:
    """SIGTERM or SIGHUP at a random moment: the run is kept, the way on is told."""
    out = bench.place()
    signum = SIGTERM if bench.random.random() < 0.5 else SIGHUP
    outcome = bench.hurt(out, signum)
    tally.counts[f"stopped by {signum.name}"] += outcome.status != 0
    before_training = outcome.status == -signum  # nothing has begun that could be kept
    told = outcome.one_clear_line and "interrupted" in outcome.err
    tally.expect(told or before_training or not outcome.status, f"{signum.name}: {outcome}")
    if out.exists():
        bench.check_state(out, tally)
    bench.end_well(out, tally)
    shutil.rmtree(out)


def terminal_closes(bench: Bench, tally: Tally) -> None:
    """The terminal goes away while the progress bar is on it; told to outlive it, a run does."""
    out, deaf = bench.place(), bool(bench.random.random() < 0.5)
    bench.reference()
    master, slave = pty.openpty()
    child = bench.forker.start(*bench.command(out), terminal=os.ttyname(slave), nohup=deaf)
    time.sleep(float(bench.random.uniform(0.2, 1) * bench.seconds["plain"]))
    os.close(slave)
    os.close(master)
    outcome = child.wait()
    tally.counts["terminals closed"] += 1
    if deaf:
        tally.counts["terminals outlived"] += 1
        tally.expect((out / "config.json").exists(), f"terminal closed under nohup: {outcome}")
    tally.expect(outcome.status in (0, 2, -SIGHUP), f"terminal closed: {outcome}")
    if out.exists():
        bench.check_state(out, tally)
    bench.end_well(out, tally)
    shutil.rmtree(out)


def clock_jumps(bench: Bench, tally: Tally) -> None:
    """The clocks jump all the time, and again otherwise after the run was killed."""
    out = bench.place()
    bench.reference()
    child = bench.forker.start(*bench.command(out), clock=int(bench.random.integers(2**31)))
    time.sleep(float(bench.random.uniform(0, bench.seconds["plain"])))
    child.signal(SIGKILL)
    child.wait()
    more = bench.command(out, "--resume")
    outcome = bench.forker.run(*more, clock=int(bench.random.integers(2**31)))
    tally.expect(outcome.status == 0, f"clock: {outcome}")
    tally.counts["runs under a jumping clock"] += 1
    bench.end_well(out, tally)
    shutil.rmtree(out)


def _contents(folder: Path) -> dict[str, bytes]:
    """What matters in a folder: not the note of a run, nor what dead processes left behind."""
    found = (path for path in folder.iterdir() if path.suffix != ".tmp" and path.name != "run.json")
    return {path.name: path.read_bytes() for path in found}
