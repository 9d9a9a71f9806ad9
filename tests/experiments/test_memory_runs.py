"""Networks with memory: rounds of sharpening, and further attempts where errors are left."""

from __future__ import annotations

from typing import Any

from paper.memory_runs import Recipe, Task, make_task, train
from paper.sets import PaperSet, Split

from kleene.evaluation.metrics import evaluate
from kleene.languages.context_free import balanced_parentheses

RECIPE = Recipe(batch_size=32, epochs=1, rmsprop_epochs=1, curriculum=None, rounds=2, attempts=2)


def task_of(label: bool | None) -> Task:
    """Some words of parentheses; with a label all words have it."""
    language = balanced_parentheses("a")

    def split(seed: int) -> Split:
        words, labels = language.sample(80, range(1, 9), seed=seed)
        return Split(words=words, labels=labels if label is None else [label] * len(words))

    data = PaperSet(
        language=language, train=split(0), validation=split(1), tests={"test": split(2)}
    )
    return make_task(data, split(3))


def run(task: Task) -> tuple[Any, dict[str, Any]]:
    return train(task, "SR-LSTM-P", states=2, hidden=6, seed=0, recipe=RECIPE)


def test_errors_on_the_longer_words_make_another_attempt_and_the_better_one_is_kept() -> None:
    task = task_of(None)
    model, result = run(task)
    assert len(result["attempts"]) == RECIPE.attempts
    assert result["attempts"][result["attempt"]] == min(result["attempts"])
    kept = result["rounds"][result["round"]]["longer"]["soft"]
    assert round(1 - evaluate(model.network, task.longer).accuracy, 4) == kept


def test_a_network_without_errors_needs_one_attempt() -> None:
    _, result = run(task_of(True))
    assert result["attempts"] == [(0.0, 0.0)]
    assert result["errors"]["soft"] == {"test": 0.0}
