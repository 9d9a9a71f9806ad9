"""What once was accepted and false of `predict`: each is refused, or true of `predict` now."""

from __future__ import annotations

import csv
import io
import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from random_models import largest_temperature, random_model

from kleene import SequenceClassifier
from kleene.automata import DFA
from kleene.cli import main
from kleene.data import Alphabet, Bins, Layout
from kleene.errors import ExtractionError, KleeneError, ModelError
from kleene.files import write_atomically
from kleene.model import Model
from kleene.model_folder import FILES
from kleene.nn.similarity import dot
from kleene.nn.transition import soft_argmax
from kleene.proof import bounds, invariant, require
from kleene.proof.certificate import Certificate, Refusal
from kleene.proof.certify import certify
from kleene.proof.verify import verify
from kleene.proof.verify_files import load_model
from kleene.web.models import load_models

WORDS = ["".join(word) for n in range(9) for word in itertools.product("ab", repeat=n)]


def change(model: Model, **weights: object) -> Model:
    """The model with some weights replaced by what functions make of them."""
    with torch.no_grad():
        for name, make in weights.items():
            weight = dict(model.network.named_parameters())[name.replace("__", ".")]
            weight.copy_(make(weight))
    return model


def agrees(model: Model, dfa: DFA) -> bool:
    predicted = SequenceClassifier.from_model(model).predict(WORDS)
    return predicted.tolist() == [dfa.run(word) for word in WORDS]


def two_states(**settings: object) -> Model:
    """u = tanh(bias) of one unit, whatever comes; its sign says which centroid is nearer."""
    defaults = {"transition": "soft-argmax", "similarity": "dot", "temperature": 0.02}
    model = random_model(
        0, num_states=2, hidden_size=1, end_token=False, **{**defaults, **settings}
    )
    for weight in model.network.parameters():
        if weight.dim():
            weight.data.zero_()
    change(
        model,
        rnn__centroids_l0=lambda w: torch.tensor([[-1.0], [1.0]]),
        rnn__bias_ih_l0=lambda w: torch.full_like(w, 0.1),
        head__weight=lambda w: torch.tensor([[-1.0], [1.0]]),
    )
    return model


def test_h1_predict_and_proof_are_about_the_scores(tmp_path):
    model = random_model(24)
    change(model, head__weight=lambda w: w * 1e-9, head__bias=lambda w: w * 1e-9)
    found = certify(model)
    assert found.holds
    assert len(set(found.dfa.outputs)) == 2
    assert agrees(model, found.dfa)
    assert main(["verify", *map(str, proved(tmp_path, model))]) == 0


@pytest.mark.parametrize("cell", ["rnn", "rnn-relu", "gru"])
@pytest.mark.parametrize("scale", [1e15, 1e20, 1e25, 1e30])
def test_h2_sums_that_overflow_are_refused(cell, scale, tmp_path):
    model = random_model(24, cell=cell)
    change(model, rnn__weight_ih_l0=lambda w: w * scale, embedding__weight=lambda w: w * scale)
    outcome = certify(model)
    assert isinstance(outcome, Refusal)
    model.save(tmp_path)
    assert main(["certify", str(tmp_path)]) == 1


@pytest.mark.parametrize("log", [-200.0, -90.0, 90.0, 200.0])
@pytest.mark.parametrize("transition", ["mixture", "soft-argmax"])
def test_h3_temperatures_that_float32_cannot_hold_are_refused(log, transition):
    model = change(random_model(24, transition=transition), rnn__log_temperature_l0=lambda w: log)
    assert isinstance(certify(model), Refusal)


def test_h3_denormal_weights_are_refused():
    """The gap of the scores is all in products that float32 flushes to zero."""
    model = two_states()
    change(model, rnn__centroids_l0=lambda w: w * 1e-40, head__weight=lambda w: w * 1e3)
    assert isinstance(certify(model), Refusal)
    model = two_states()
    change(model, head__weight=lambda w: w * 1e-42)
    assert isinstance(certify(model), Refusal)


@pytest.mark.parametrize(
    "weights",
    [
        {"rnn__log_temperature_l0": lambda w: np.log(1e9)},
        {"rnn__centroids_l0": lambda w: w * 1e-12},
        {"rnn__centroids_l0": lambda w: w * 1e-7, "rnn__log_temperature_l0": lambda w: 0.0},
    ],
)
def test_h6_hard_mode_takes_the_argmax_of_rounded_probabilities(weights):
    model = change(two_states(), **weights)
    dfa = DFA(alphabet="ab", transitions=[[0, 0]], outputs=(True,))
    assert not agrees(model, dfa)
    assert isinstance(certify(model, dfa), Refusal)
    assert certify(two_states(), dfa).holds
    assert largest_temperature(two_states()) < 1e9


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("similarity", dot),
        ("transition", soft_argmax),
    ],
)
def test_h8_a_network_that_runs_otherwise_than_it_is_saved_is_refused(attribute, value):
    model = random_model(24)
    assert certify(model).holds
    setattr(model.network.rnn, attribute, value)
    with pytest.raises(ExtractionError, match=f"{attribute} is|no centroids|finite"):
        certify(model)


def test_h9_a_certificate_says_nothing_that_is_not_checked():
    document = certify(random_model(24)).to_dict()
    assert set(document) == {
        *("format", "claim", "door", "temperatures", "model_sha256", "dfa"),
        *("centroids", "dfa_states", "transitions", "lo", "hi"),
    }
    document["eps"] = document["margins"] = [0.0]
    again = Certificate.from_json(document)
    assert set(again.to_dict()) == set(document) - {"eps", "margins"}


def test_certify_returns_only_what_the_verifier_accepts(monkeypatch):
    monkeypatch.setattr(invariant, "SPARE", 0.0)
    monkeypatch.setattr(bounds, "FUNCTION", 0.0)  # a prover that forgets rounding
    outcome = certify(random_model(24))
    assert isinstance(outcome, Refusal)
    assert "the verifier refuses" in str(outcome)


# -- what is proved is what is loaded --------------------------------------------------------------


def proved(folder: Path, model: Model) -> list[Path]:
    """The files of a model and its proof."""
    found = certify(model)
    model.save(folder / "model")
    found.dfa.save(folder / "dfa.json")
    found.save(folder / "proof.json")
    return [folder / name for name in ("model", "dfa.json", "proof.json")]


@pytest.mark.parametrize("part", FILES)
def test_h10_verify_refuses_every_folder_that_predict_refuses(part, tmp_path):
    files = proved(tmp_path, random_model(24))
    for name, content in random_model(25).to_files().items():
        (files[0] / f".{name}.old.tmp").write_bytes(content)
    assert verify(*files).holds
    content = bytearray((files[0] / part).read_bytes())
    content[len(content) // 2] ^= 1
    (files[0] / part).write_bytes(content)
    with pytest.raises(ModelError):
        Model.load(files[0])
    with pytest.raises(ModelError):
        verify(*files)


@pytest.mark.parametrize(
    "change",
    [
        {"layout": Layout(text_column="other")},
        {"layout": Layout(bins=Bins(count=2, edges=(0.0, 0.5, 1.0)))},
        {"classes": (True, False)},
        {"alphabet": Alphabet("ba")},
        {"tokens": "words"},
        {"settings": {"threads": 2}},
    ],
)
def test_h11_the_digest_covers_everything_that_changes_an_answer(change, tmp_path):
    model = random_model(24)
    files = proved(tmp_path, model)
    replace(model, **change).save(files[0])
    found = verify(*files)
    assert not found.holds
    assert "another model" in str(found) or "alphabet" in str(found)
    with pytest.raises(ExtractionError, match="does not hold"):
        require(Model.load(files[0]), Certificate.load(files[2]))


def test_h11_a_certificate_of_version_2_holds_where_its_digest_covers_all(tmp_path):
    model = random_model(24)
    files = proved(tmp_path, model)
    document = json.loads(files[2].read_text())
    document |= {"format": "kleene.certificate/2", "model_sha256": load_model(files[0]).old_digest}
    files[2].write_text(json.dumps(document))
    assert verify(*files).holds
    assert require(Model.load(files[0]), files[2]) == Certificate.load(files[2]).dfa
    replace(model, layout=Layout(text_column="other")).save(files[0])
    assert "run `kleene certify" in str(verify(*files))


def test_h11_a_proof_is_about_the_network_as_it_runs(tmp_path):
    files = proved(tmp_path, random_model(24))
    loaded = Model.load(files[0])
    require(loaded, files[2])
    loaded.network.rnn.transition = soft_argmax
    with pytest.raises(ExtractionError, match="transition is"):
        require(loaded, files[2])
    with pytest.raises(ExtractionError, match="does not hold"):
        require(change(Model.load(files[0]), head__bias=lambda w: -w), files[2])


def test_h11_predict_and_serve_refuse_a_model_that_is_not_the_proved_one(tmp_path, capsys):
    files = proved(tmp_path, random_model(24))
    asked = ["predict", str(files[0]), "--word", "ab", "--proof", str(files[2])]
    assert main(asked) == 0
    assert list(load_models(files[:1], proof=files[2])) == ["model"]
    change(random_model(24), head__bias=lambda w: -w).save(files[0])
    capsys.readouterr()
    assert main(asked) == 2
    told = capsys.readouterr()
    assert not told.out
    assert "the certificate does not hold of this model" in told.err
    with pytest.raises(ExtractionError, match="does not hold"):
        load_models(files[:1], proof=files[2])


# -- labels and symbols come through as they are ---------------------------------------------


@pytest.mark.parametrize(
    "classes", [("a", "a\0"), (-1, 2**63 + 1), (1, "1"), (0.1, 2**70), ((1, 2), (3, 4))]
)
def test_h12_predict_returns_the_labels_that_were_proved(classes, tmp_path, capsys):
    model = replace(random_model(24), classes=classes)
    found = certify(model)
    predicted = SequenceClassifier.from_model(model).predict(WORDS).tolist()
    labels = [found.dfa.run(word) for word in WORDS]
    assert list(map(repr, predicted)) == list(map(repr, labels))
    assert list(map(repr, found.dfa.run_many(WORDS))) == list(map(repr, labels))
    model.save(tmp_path)
    assert main(["predict", str(tmp_path), "--word", "ab", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["probabilities"]) == 2
    assert set(map(repr, labels)) == set(map(repr, classes))
    column = model.scorer()(pandas.DataFrame({"sequence": WORDS}))["label"].tolist()
    assert len(set(zip(map(repr, labels), map(repr, column), strict=True))) == len(set(column)) == 2


@pytest.mark.parametrize(
    ("tokens", "symbols"),
    [
        ("text", ("A", "a")),
        ("text", ("a-b", "c")),
        ("text", ("日本", "a")),
        ("words", ("a b", "c")),
    ],
)
def test_h13_symbols_that_no_text_has_are_refused(tokens, symbols, tmp_path):
    model = replace(random_model(24), tokens=tokens, alphabet=Alphabet(symbols))
    with pytest.raises(ExtractionError, match=f"tokens='{tokens}'"):
        certify(model)
    with pytest.raises(ExtractionError, match=f"tokens='{tokens}'"):
        load_model(model.to_files())


def test_h14_predict_under_autocast_is_the_proved_float32():
    model = random_model(24)
    dfa = certify(model).dfa
    classifier = SequenceClassifier.from_model(model)
    plain = classifier.predict_proba(WORDS)
    with torch.autocast("cpu", torch.bfloat16):
        assert (classifier.predict_proba(WORDS) == plain).all()
        assert agrees(model, dfa)


def test_h15_a_lone_surrogate_is_a_symbol_or_refused_in_one_line(tmp_path):
    model = replace(random_model(24), alphabet=Alphabet(("a", "\ud800")))
    files = proved(tmp_path, model)
    assert verify(*files).holds
    assert DFA.load(files[1]) == Certificate.load(files[2]).dfa
    with pytest.raises(KleeneError, match="UTF-8"):
        write_atomically(tmp_path / "text", "\ud800")


def test_h16_no_cell_of_predict_columns_is_a_formula(tmp_path, capsys):
    replace(random_model(24), classes=("=1+1", "@x")).save(tmp_path / "model")
    (tmp_path / "data.csv").write_text("text,=cmd\nab,+x\nba,-2\n")
    asked = ["predict", str(tmp_path / "model"), str(tmp_path / "data.csv"), "--columns"]
    assert main([*asked, "--text-column", "text"]) == 0
    found = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert found[0] == ["text", "'=cmd", "prediction", "probability"]
    assert [row[1] for row in found[1:]] == ["'+x", "-2"]
    assert {row[2] for row in found[1:]} <= {"'=1+1", "'@x"}
