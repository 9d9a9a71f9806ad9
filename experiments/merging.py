"""State merging straight from the words, by AALpy: the passive learners to compare with."""

from __future__ import annotations

import multiprocessing
import resource
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from multiprocessing.connection import Connection

from kleene.automata import DFA
from kleene.machine import Word


def merge_states(
    words: Sequence[Word], labels: Sequence[bool], algorithm: str, alphabet: Sequence[Hashable]
) -> DFA:
    """The machine of RPNI or EDSM; words labelled both ways get their majority label."""
    from aalpy.learning_algs import run_EDSM, run_RPNI

    votes: dict[Word, Counter[bool]] = defaultdict(Counter)
    for word, label in zip(words, labels, strict=True):
        votes[word][label] += 1
    data = [(tuple(word), count.most_common(1)[0][0]) for word, count in votes.items()]
    learn = {"rpni": run_RPNI, "edsm": run_EDSM}[algorithm]
    model = learn(data, automaton_type="dfa", input_completeness="sink_state", print_info=False)
    missing = set(alphabet) - set(model.get_input_alphabet())
    if missing:
        raise ValueError(f"the words show no {sorted(missing)}")
    return DFA.from_aalpy(model)


def merge_in_time(
    words: Sequence[Word],
    labels: Sequence[bool],
    algorithm: str,
    alphabet: Sequence[Hashable],
    seconds: int,
) -> tuple[DFA | None, float]:
    """The machine and its CPU seconds; None where the time was up."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    arguments = (sender, words, labels, algorithm, alphabet, seconds)
    process = context.Process(target=_merge, args=arguments)
    process.start()
    sender.close()
    try:
        document, used = receiver.recv()
        return DFA.from_json(document), used
    except EOFError:
        return None, float(seconds)
    finally:
        process.join()


def _merge(
    sender: Connection,
    words: Sequence[Word],
    labels: Sequence[bool],
    algorithm: str,
    alphabet: Sequence[Hashable],
    seconds: int,
) -> None:
    """Merge states in a process of its own, which the system ends when its time is up."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds, int(used) + seconds))
    dfa = merge_states(words, labels, algorithm, alphabet)
    spent = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - used
    sender.send((dfa.to_json(), round(spent, 2)))
