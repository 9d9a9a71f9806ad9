"""The extraction benchmark: networks that can be made again, extractors on a known network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from extraction_benchmark import networks
from extraction_benchmark.extractors import EXTRACTORS, Budget, Partition, extract
from extraction_benchmark.networks import ARCHITECTURES, Network, build, make, open_network
from extraction_benchmark.run import adversarial, compare
from extraction_benchmark.tasks import tasks

ROOT = Path(__file__).parents[2]
BUDGET = Budget(seconds=20, queries=50_000)


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "your-own-extractor.md").read_text()
    names: dict[str, Any] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "page", "exec"), names)
    assert names["result"]["last three symbols"]["states"] == 4  # Tomita 4: no 000
    assert names["result"]["Kleene"]["errors"]["random"][0] == 0
    assert "last three symbols" in capsys.readouterr().out


def test_a_network_is_made_again_bit_by_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks, "PASSES", 2)
    first, again = (make(tmp_path, tasks()["SL.4"], "gru-16", 3) for _ in range(2))
    assert first == again
    words = ["", "abca", "dd"]
    opened = (open_network(tmp_path, first), open_network(tmp_path, again))
    assert opened[0](words) == opened[1](words)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_states_end_in_the_label(architecture: str) -> None:
    """The states of a prefix do not depend on what follows."""
    torch.manual_seed(0)
    module = build(2, ARCHITECTURES[architecture]).eval()
    network = Network(name="", task=tasks()["tomita1"], module=module)
    assert len(network(["", "0", "0110", "11"])) == 4
    if network.has_states:
        whole, part = network.states(["0110"])[0], network.states(["01"])[0]
        assert whole.shape[0] == 5
        assert abs(whole[:3] - part).max() < 1e-5
    else:
        assert architecture in ("bi-gru-32", "transformer")


class Exact:
    """A network that is its language, with the states of the automaton as its own."""

    has_states = True

    def __init__(self, name: str) -> None:
        self.task = tasks()[name]
        self.dfa = self.task.language.dfa

    def __call__(self, words: Any) -> list[bool]:
        return [bool(self.dfa.run(word)) for word in words]

    def states(self, words: Any) -> list[Any]:
        return [torch.eye(self.dfa.num_states)[self.dfa.trace(word)].numpy() for word in words]


@pytest.mark.parametrize("extractor", EXTRACTORS, ids=lambda one: one.name)
def test_every_extractor_finds_a_small_automaton(extractor: Any) -> None:
    network: Any = Exact("tomita3")
    found = extract(extractor, network, network.task.given(0), BUDGET)
    assert found is not None
    words = network.task.tests(0)["like training"]
    wrong = sum(found.dfa.run(word) != network.dfa.run(word) for word in words)
    assert wrong <= (100 if extractor.name == "differentiable DFA" else 0)


def test_a_budget_ends_an_extraction_with_what_was_offered() -> None:
    network: Any = Exact("random12")
    found = extract(Partition(), network, network.task.given(0), Budget(seconds=20, queries=30))
    assert found is not None
    assert found.stopped
    assert found.queries <= 30


def test_adversarial_words_tell_automata_apart() -> None:
    network: Any = Exact("tomita3")
    result = compare(EXTRACTORS[:1], network, BUDGET)
    assert result["Kleene"]["errors"]["adversarial"] == [0, 0, 0]
    words = adversarial([tasks()[name].language.dfa for name in ("tomita3", "tomita4")], 0)
    assert tasks()["tomita3"].language.dfa.difference(tasks()["tomita4"].language.dfa) in words
