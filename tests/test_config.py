"""What the estimator's parameters mean where they are left open."""

from __future__ import annotations

from typing import Any

import pytest
from toys import small_estimator

from kleene.nn.config import NetworkConfig
from kleene.settings import TEXT_SYMBOLS, Settings, network_config, stages_of
from kleene.training.stages import Stage, start_counts
from kleene.training.texts.ngram_states import init_ngram_states


def parameters(**given: Any) -> Settings:
    estimator = small_estimator(**{"learn": "auto", **given})
    return Settings.of(estimator.get_params(deep=False))


def config(symbols: int, **given: Any) -> NetworkConfig:
    return network_config(parameters(**given), symbols, 2)


def stages(made: NetworkConfig, **given: Any) -> list[Stage]:
    settings = parameters(**given)
    return stages_of(settings, made, settings.training)


def test_few_symbols_are_read_as_a_machine() -> None:
    made = config(TEXT_SYMBOLS - 1)
    assert (made.cell, made.pooling, made.dropout) == ("gru", "last", 0)
    assert [stage.name for stage in stages(made)] == ["cell", "states"]


def test_many_symbols_are_texts() -> None:
    made = config(TEXT_SYMBOLS)
    assert (made.cell, made.pooling, made.dropout) == ("lstm-p", "states", 0.5)
    first, second = stages(made)
    assert first.prepare is init_ngram_states
    assert second.prepare is start_counts  # what the first stage learned may be kept
    assert first.learning_rate > second.learning_rate
    assert None not in (first.ema, second.ema)


def test_every_class_of_texts_can_have_states() -> None:
    assert network_config(parameters(), TEXT_SYMBOLS, 2).num_states == 10
    assert network_config(parameters(), TEXT_SYMBOLS, 20).num_states == 40
    assert network_config(parameters(states=7), TEXT_SYMBOLS, 20).num_states == 7


def test_texts_may_be_classified_otherwise() -> None:
    made = config(TEXT_SYMBOLS, pooling="max")
    assert [stage.name for stage in stages(made, pooling="max")] == ["cell", "states"]


@pytest.mark.parametrize(
    "given", [{"cell": "gru"}, {"pooling": "last"}, {"dropout": 0.0}, {"dropout": 0.2}], ids=str
)
def test_what_is_given_is_kept(given: dict[str, Any]) -> None:
    made = config(TEXT_SYMBOLS, **given)
    assert {name: getattr(made, name) for name in given} == given


def test_a_vanilla_network_on_texts_has_no_states_to_start() -> None:
    made = config(TEXT_SYMBOLS, states=0)
    (stage,) = stages(made, states=0)
    assert (made.pooling, stage.name) == ("max", "train")


def test_prose_is_a_text_however_few_its_words() -> None:
    prose = network_config(parameters(), 100, 2, "text")
    assert (prose.cell, prose.pooling) == ("lstm-p", "states")
    assert network_config(parameters(), 100, 2, "words").pooling == "last"
