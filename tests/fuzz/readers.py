"""Every reader of the library, with good inputs to spoil."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from mutate import both, mutate_bytes, mutate_json, mutate_lines

from kleene import DFA
from kleene.automata import PFA
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Alphabet
from kleene.data.bins import Bins
from kleene.data.files import fit_bins, read_data
from kleene.data.layout import Layout
from kleene.datasets.archives import members
from kleene.datasets.corpora import REVIEW, read_texts
from kleene.datasets.mnist import read_idx
from kleene.errors import DataError, KleeneError
from kleene.evaluation.metrics import logits
from kleene.languages import tomita
from kleene.model import Model
from kleene.model_folder import FILES, PARTS
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.proof.verify import verify
from kleene.training.checkpoint import Checkpointer, load_checkpoint, save_checkpoint
from kleene.training.run import Run

Mutate = Callable[[bytes, Sequence[bytes], random.Random], bytes]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Something that takes bytes from anybody; errors other than KleeneError are its faults."""

    name: str
    seeds: Sequence[bytes]
    read: Callable[[bytes], object]
    mutate: Mutate = mutate_bytes

    def spoil(self, dice: random.Random) -> bytes:
        """A malformed input; now and then plain noise."""
        if dice.random() < 0.02:
            return dice.randbytes(dice.randrange(200))
        return self.mutate(dice.choice(self.seeds), self.seeds, dice)


def readers(folder: Path) -> list[Reader]:
    """All of them; files go to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        *_of_data(folder),
        *_of_automata(),
        *_of_models(folder),
        *_of_archives(folder),
    ]


# -- data ----------------------------------------------------------------------------------------

TSV = "word\tlabel\n0110\t1\n\t0\n10 01\tcafé\n".encode()
CSV = 'text,label\n"a, ""b""",x\nzwei\u0301,y\n"two\nlines",x\n'.encode()
JSONL = b"\n".join(
    json.dumps(record).encode()
    for record in (
        {"sequence": "0110", "label": 1},
        {"sequence": "שלום 👩‍👩‍👧", "label": "x"},
        {"sequence": "", "label": True},
    )
)
LISTS = b"\n".join(
    json.dumps(record).encode()
    for record in (
        {"sequence": ["a", 1, [2, "b"]], "label": 0.5},
        {"sequence": [], "label": 1},
    )
)


EVENTS = b"case;event;time;label\n1;a;2;x\n2;b;1;y\n1;c;1;x\n"
DATES = b"case,event,time,label\n1,a,2024-01-01,x\n1,b,2024-01-01T10:00:00+02:00,x\n"
XES = (
    b'<?xml version="1.0" encoding="UTF-8"?><log xmlns="http://www.xes-standard.org/">'
    b'<trace><string key="label" value="x"/><string key="concept:name" value="1"/>'
    b'<event><string key="concept:name" value="a&amp;b"/></event>'
    b'<event><string key="concept:name" value="c"/><list key="l"><values/></list></event></trace>'
    b'<trace><string key="label" value="y"/></trace></log>'
)
NUMBERS = b"1 2.5 -3e2\t1\n0.5,7;8\t0\n"
EVENT_LAYOUTS = [
    Layout(case_column="case", event_column="event", order_column="time", delimiter=";"),
    Layout(case_column="case", event_column="event", order_column="time"),
    Layout(case_column="case"),
]


def _of_data(folder: Path) -> list[Reader]:
    def reading(ending: str, *layouts: Layout) -> Callable[[bytes], object]:
        path = folder / f"input{ending}"

        def read(content: bytes) -> object:
            path.write_bytes(content)
            found = [read_data(path, tokens="words", labelled=False)] if not layouts else []
            failed: KleeneError | None = None
            for layout in layouts or [Layout()]:
                try:
                    found.append(read_data(path, fit_bins(path, layout)))
                except KleeneError as error:
                    failed = error
            if failed is not None and not found:
                raise failed
            return found

        return read

    def packing(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
        if dice.random() < 0.5:
            return mutate_bytes(content, others, dice)
        inner = [gzip.decompress(other) for other in others]
        return gzip.compress(mutate_bytes(gzip.decompress(content), inner, dice), 1)

    return [
        Reader(name="TSV", seeds=[TSV, b"01\t1\n10\t0\n"], read=reading(".tsv")),
        Reader(name="CSV", seeds=[CSV, b"text,label\na,b\n"], read=reading(".csv")),
        Reader(name="JSONL", seeds=[JSONL, LISTS], read=reading(".jsonl"), mutate=mutate_lines),
        Reader(
            name="data of any kind, gz",
            seeds=[gzip.compress(one, 1) for one in (TSV, CSV, JSONL, LISTS)],
            read=reading(".gz"),
            mutate=packing,
        ),
        Reader(name="event table", seeds=[EVENTS, DATES], read=reading(".csv", *EVENT_LAYOUTS)),
        Reader(name="XES log", seeds=[XES], read=reading(".xes")),
        Reader(
            name="sequences of numbers",
            seeds=[NUMBERS],
            read=reading(".tsv", *(Layout(bins=Bins.parse(text)) for text in ("3", "sax:4"))),
        ),
        Reader(
            name="layout of a model",
            seeds=[json.dumps(layout.to_dict()).encode() for layout in EVENT_LAYOUTS],
            read=lambda content: Layout.from_dict(_json(content)),
            mutate=mutate_json,
        ),
        _parquet(reading(".parquet")),
    ]


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON ({error})") from None


def _parquet(read: Callable[[bytes], object]) -> Reader:
    import pyarrow
    from pyarrow import parquet

    seeds = []
    for texts in (["a b", "c"], [["a"], ["b"]]):
        out = io.BytesIO()
        parquet.write_table(pyarrow.table({"text": texts, "label": [1, 0]}), out)
        seeds.append(out.getvalue())
    return Reader(name="Parquet", seeds=seeds, read=read)


# -- automata ------------------------------------------------------------------------------------

WORDY = DFA.from_table(
    {"s": {"the": "t", 7: "s"}, "t": {"the": "s", 7: "t"}}, start="s", outputs={"s": "no", "t": 2.5}
)
NESTED = CounterMachine.from_rule(
    lambda state, view, symbol: (
        ("bad", 0)
        if state == "bad" or (symbol == ")" and view == 0)
        else ("good", 1 if symbol == "(" else -1)
    ),
    start="good",
    alphabet="()",
    accept={("good", 0)},
)


def _of_automata() -> list[Reader]:
    dfas = [dfa.to_json().encode() for dfa in (tomita(4).dfa, WORDY)]
    pfa = PFA.from_json(_pfa())

    def dfa(content: bytes) -> object:
        found = DFA.from_json(content.decode("utf-8", "surrogateescape"))
        assert DFA.from_json(found.to_json()).to_json() == found.to_json()
        word = found.alphabet[:1] * 3
        assert found.minimize().run(word) == found.run(word)
        return found

    return [
        Reader(name="DFA JSON", seeds=dfas, read=dfa, mutate=both(0.7)),
        Reader(
            name="PFA JSON",
            seeds=[pfa.to_json().encode()],
            read=lambda content: PFA.from_json(content.decode("utf-8", "surrogateescape")),
            mutate=both(0.7),
        ),
        Reader(
            name="counter machine JSON",
            seeds=[NESTED.to_json().encode()],
            read=lambda content: CounterMachine.from_json(
                content.decode("utf-8", "surrogateescape")
            ).run("()"),
            mutate=both(0.7),
        ),
        Reader(name="AALpy", seeds=[b"-"], read=_from_aalpy, mutate=_noise),
    ]


def _pfa() -> str:
    return json.dumps(
        {
            "format": "kleene.pfa/1",
            "alphabet": ["0", "1"],
            "initial": [1.0, 0.0],
            "outputs": [True, False],
            "transitions": [[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.25, 0.75]]],
        }
    )


def _noise(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
    return dice.randbytes(16)


STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, "", "a", "sink", "\ud800", (), (1, "b"), [], {}, float("nan")),
    *(object(), b"bytes", "a", "b", "s0", "s1"),
)


def _from_aalpy(content: bytes) -> object:
    """Objects that AALpy would not make: foreign targets, twins, missing parts, strange outputs."""
    from aalpy.automata import Dfa, DfaState, MooreMachine, MooreState

    dice = random.Random(content)
    kind, make = dice.choice(((Dfa, DfaState), (MooreMachine, MooreState)))
    states = [make(f"s{i}", dice.random() < 0.5) for i in range(dice.randrange(1, 4))]
    for state in states:
        state.transitions = {symbol: dice.choice(states) for symbol in "ab"}
    automaton = kind(states[0], states)
    for _ in range(dice.randrange(1, 4)):
        victim, strange = dice.choice(states), dice.choice(STRANGE)
        match dice.randrange(8):
            case 0:
                victim.transitions = {"a": make("elsewhere", True), "b": victim}
            case 1:
                victim.transitions = {"a": strange, "b": victim}
            case 2:
                victim.state_id = strange
            case 3:
                setattr(victim, "is_accepting" if kind is Dfa else "output", strange)
            case 4:
                victim.transitions = strange
            case 5:
                automaton.initial_state = dice.choice((strange, make("elsewhere", True)))
            case 6:
                automaton.states = dice.choice((strange, [], [strange]))
            case _:
                return DFA.from_aalpy(strange)
    return DFA.from_aalpy(automaton)


# -- models --------------------------------------------------------------------------------------


def small_model() -> Model:
    """A network of two states that is the automaton of even zeros, and can be proved to be."""
    torch.manual_seed(0)
    alphabet = Alphabet("ab")
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=2,
        cell="gru",
        input_size=3,
        hidden_size=4,
        num_states=2,
        similarity="euclidean",
        temperature=0.02,
    )
    network = Classifier(config).eval()
    return Model(network=network, alphabet=alphabet, classes=(False, True), longest=3)


def _of_models(folder: Path) -> list[Reader]:
    model = small_model()
    whole = model.to_files()
    target = folder / "model"

    def spoiled_folder(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
        """One file of the folder is changed; often its checksums are made to fit again."""
        name = dice.choice(FILES)
        change = mutate_bytes if name.endswith("tensors") or dice.random() < 0.3 else mutate_json
        part = change(whole[name], [*whole.values()], dice)
        return bytes([FILES.index(name), dice.random() < 0.5]) + part

    def read_folder(content: bytes) -> object:
        files = dict(whole)
        if len(content) >= 2 and content[0] < len(FILES):
            files[FILES[content[0]]] = content[2:]
            if content[1]:
                _forge(files)
        target.mkdir(exist_ok=True)
        for name, part in files.items():
            (target / name).write_bytes(part)
        found = Model.load(target)
        return logits(found.network, found.alphabet.encode_many(["", "ab"]))

    checkpoint = folder / "checkpoint.safetensors"
    progress = {"run": {"seed": 0}, "progress": {"stage": 0}, "history": model.history.to_dict()}
    tensors = {f"weights.{k}": v for k, v in model.network.state_dict().items()}
    save_checkpoint(checkpoint, tensors, progress)

    def read_checkpoint(content: bytes) -> object:
        checkpoint.write_bytes(content)
        load_checkpoint(checkpoint)
        network = Classifier(model.network.config)
        return Checkpointer(network, {"seed": 0}, Run(checkpoint=checkpoint)).restore()

    proof = _proof(folder)

    def read_certificate(content: bytes) -> object:
        text = content.decode("utf-8", "surrogateescape")
        verdict = verify(folder / "proved", proof.dfa.to_json(), text)
        return verdict, Certificate.from_json(text)

    def read_word(content: bytes) -> object:
        word = symbols.words([content.decode("utf-8", "surrogateescape")], typed=True)[0]
        return symbols.alphabet.encode(word)

    symbols = Model(
        network=model.network, alphabet=model.alphabet, classes=model.classes, tokens="symbols"
    )
    return [
        Reader(name="model folder", seeds=[b"-"], read=read_folder, mutate=spoiled_folder),
        Reader(name="checkpoint", seeds=[checkpoint.read_bytes()], read=read_checkpoint),
        Reader(
            name="alphabet JSON",
            seeds=[whole["alphabet.json"]],
            read=lambda content: Alphabet.from_json(content.decode("utf-8", "surrogateescape")),
            mutate=both(0.6),
        ),
        Reader(
            name="certificate JSON",
            seeds=[proof.to_json().encode()],
            read=read_certificate,
            mutate=both(0.7),
        ),
        Reader(
            name="typed words",
            seeds=[b'["a", 1, ["b", null]]', b"a b a"],
            read=read_word,
        ),
    ]


def _forge(files: dict[str, bytes]) -> None:
    """Make the checksums fit, as somebody with bad intent would."""
    try:
        config = json.loads(files["config.json"])
        config.pop("sha256", None)
        own = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
    except (ValueError, AttributeError, TypeError, RecursionError):
        return
    sums = {name: hashlib.sha256(files[name]).hexdigest() for name in PARTS}
    config["sha256"] = {**sums, "config.json": own}
    files["config.json"] = json.dumps(config).encode()


def _proof(folder: Path) -> Certificate:
    """A certificate of a network made to have one label only, so that it can be proved."""
    model = small_model()
    with torch.no_grad():
        model.network.head.weight.zero_()
        model.network.head.bias.copy_(torch.tensor([0.0, 1.0]))
    model.save(folder / "proved")
    dfa = DFA.from_table({"all": {"a": "all", "b": "all"}}, start="all", accept={"all"})
    found = certify(model, dfa)
    assert isinstance(found, Certificate), found
    return found


# -- archives and images -------------------------------------------------------------------------


def make_tar(files: dict[str, bytes]) -> bytes:
    """A tar archive, not compressed."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _of_archives(folder: Path) -> list[Reader]:
    texts = {
        f"set/{part}/{label}/{i}_7.txt": b"a good film " * i
        for part in ("train", "test")
        for label in ("pos", "neg")
        for i in range(2)
    }
    tars = [make_tar(texts), make_tar({"n" * 150 + "é": b"x", "../../climbed": b"out"})]
    idx = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3]) + bytes(range(18))

    def packed(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
        """Mostly the inside is spoiled and packed whole, so that more than the gz layer is met."""
        if dice.random() < 0.1:
            return mutate_bytes(gzip.compress(content, 1), others, dice)
        changed = bytearray(mutate_bytes(content, others, dice))
        if len(changed) >= 512 and dice.random() < 0.5:  # a header whose sum fits is read further
            head = bytearray(changed[:512])
            head[148:156] = b" " * 8
            changed[148:156] = b"%06o\0 " % sum(head)
        return gzip.compress(bytes(changed), 1)

    tar_path, idx_path = folder / "input.tar.gz", folder / "input-idx3-ubyte.gz"

    def read_tar(content: bytes) -> object:
        tar_path.write_bytes(content)
        return [list(members(tar_path, lambda name: True)), read_texts(tar_path, REVIEW)]

    def read_images(content: bytes) -> object:
        idx_path.write_bytes(content)
        return read_idx(idx_path)

    return [
        Reader(name="tar archive", seeds=tars, read=read_tar, mutate=packed),
        Reader(
            name="IDX images",
            seeds=[idx, b"\0\0\x08\x01\0\0\0\x02\7\7"],
            read=read_images,
            mutate=packed,
        ),
    ]
