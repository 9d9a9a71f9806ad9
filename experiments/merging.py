"""State merging straight from the words, by AALpy: the passive learners to compare with."""

from __future__ import annotations

from collections.abc import Sequence

from kleene.automata import DFA


def merge_states(
    words: Sequence[str], labels: Sequence[bool], algorithm: str, alphabet: str
) -> DFA:
    """The machine of RPNI or EDSM; words labelled both ways keep their first label."""
    from aalpy.learning_algs import run_EDSM, run_RPNI

    first: dict[str, bool] = {}
    for word, label in zip(words, labels, strict=True):
        first.setdefault(word, label)
    data = [(tuple(word), label) for word, label in first.items()]
    learn = {"rpni": run_RPNI, "edsm": run_EDSM}[algorithm]
    model = learn(data, automaton_type="dfa", input_completeness="sink_state", print_info=False)
    missing = set(alphabet) - set(model.get_input_alphabet())
    if missing:
        raise ValueError(f"the words show no {sorted(missing)}")
    return DFA.from_aalpy(model)
