"""`kleene.extract`: from any network to an automaton that has been checked against it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from kleene.errors import DataError, ExtractionError, SettingError
from kleene.extraction.adapters import ExternalNetwork, module
from kleene.extraction.counter.extract import extract_counter
from kleene.extraction.disagreement import search
from kleene.extraction.lstar import FrontSearch
from kleene.extraction.methods import (
    METHODS,
    check,
    extract_auto,
    open_context,
)
from kleene.extraction.result import Extraction
from kleene.extraction.words import MAX_SYMBOLS, Oracle, encode_words
from kleene.machine import Symbol
from kleene.model import Model
from kleene.proof.certificate import Refusal
from kleene.proof.certify import certify

MAX_PAIRS = 100_000  # states x symbols; larger machines are proved by `certify` only
COUNTER = "counter"
SECONDS_OF_MODEL, SECONDS_OF_NETWORK = 10.0, 30.0
DEFAULT_LENGTH = 20  # of random words if no words are given


def extract(
    network: Any,
    words: Iterable[Any] | None = None,
    *,
    alphabet: Iterable[Symbol] | None = None,
    method: str = "auto",
    max_states: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
) -> Extraction:
    """Extract an automaton from a network, and say how far the two agree.

    `network` is a Kleene model, a fitted `SequenceClassifier`, or any callable from a batch of
    sequences to their labels: a function, a torch module from token ids to scores, or one of the
    adapters of `kleene.adapt`. A callable needs the `alphabet` of its sequences. `words` are
    sequences like those that the network is for; without them, some are drawn. `seconds` limits
    active learning.

    Of a Kleene model, `method` is one of

    - `table`: one step from every state on every symbol, exact in hard mode; memory-less cells;
    - `counts`: the most frequent successor in the traces of the words, the paper's Algorithm 1; any
      cell with centroids;
    - `mean`: the successor of highest mean transition probability, as in the paper: the mean of
      max(alpha) over the steps that went there; any cell with centroids;
    - `lstar`: active learning, within `seconds`; any network;
    - `counter`: as `counts`, and the one-counter machine in the memory, as `counter` of the result;
      LSTM cells with states, and words of the task;
    - `auto`: `table` or `counts` if the network has centroids, then `lstar`: the first faithful
      one, or else the most faithful one. `steps` of the result say what was tried.

    Of any other network, the result is tested, never proved. Half of the words guide active
    learning, half are held out. The `front` of the result has the best automaton of each size;
    `dfa` is the smallest within one standard error of the best automaton, or of the best with at
    most `max_states`.
    """
    if isinstance(getattr(network, "model", None), Model):
        network = network.model
    if not isinstance(network, Model):
        limit = SECONDS_OF_NETWORK if seconds is None else seconds
        if alphabet is None:
            raise SettingError("a network from elsewhere needs its alphabet; pass alphabet=")
        return read(network, alphabet, words, max_states=max_states, seconds=limit, seed=seed)
    if method not in ("auto", COUNTER, *METHODS):
        choices = ", ".join(("auto", *METHODS, COUNTER))
        raise SettingError(f"method must be one of {choices}, got {method!r}")
    started = time.perf_counter()
    counter = None
    if method == COUNTER:
        if words is None:
            raise DataError("a counter is extracted along words of the task; pass words")
        words = list(words)
        counter = extract_counter(network, words, seed=seed)
    limit = SECONDS_OF_MODEL if seconds is None else seconds
    context = open_context(network, words, seed=seed, seconds=limit)
    if method == "auto":
        found = extract_auto(context)
    else:
        read_by = METHODS["counts" if method == COUNTER else method]
        found = check(context, read_by(context))
        steps = (context.note, *found.steps)
        found = replace(found, method=method, counter=counter, steps=steps)
    return replace(_prove(network, found), seconds=time.perf_counter() - started)


def read(
    classify: Any,
    alphabet: Iterable[Symbol],
    words: Iterable[Sequence[Symbol]] | None = None,
    max_states: int | None = None,
    seconds: float = SECONDS_OF_NETWORK,
    seed: int = 0,
) -> Extraction:
    """`extract` for a network that Kleene did not train."""
    if not seconds > 0:
        raise SettingError(f"seconds must be > 0, got {seconds}")
    if max_states is not None and max_states < 1:
        raise SettingError(f"max_states must be >= 1, got {max_states}")
    if not callable(classify):
        kind = type(classify).__name__
        raise SettingError(f"expected a model or a callable, got {kind}; see kleene.adapt")
    started = time.monotonic()
    if isinstance(classify, torch.nn.Module):
        classify = module(classify)
    network = ExternalNetwork(classify, alphabet)
    given = encode_words(network, [] if words is None else words)
    network.longest = max(map(len, given), default=0) or DEFAULT_LENGTH
    oracle = Oracle(network.classify)
    front = FrontSearch(network, oracle, given, seed=seed, longest=network.longest)
    network.require_repeatable([*front.held_out, *front.random])
    if len(network.alphabet.symbols) > MAX_SYMBOLS:
        front.propose_constant()
    else:
        front.learn_actively(0.8 * seconds, max_queries=10_000_000)
    chosen = front.front.knee(max_states)
    dfa = chosen.dfa
    found = search(network, dfa, oracle, front.held_out)
    return Extraction(
        dfa=dfa,
        raw=dfa,
        states_in_use=dfa.num_states,
        fidelity=chosen.fidelity,
        disagreement=found.word,
        answers=found.answers,
        exhaustive=found.exhaustive,
        method=chosen.origin,
        steps=tuple(front.steps),
        queries=oracle.queries,
        seconds=time.monotonic() - started,
        front=front.front,
        chosen=chosen,
    )


def _prove(model: Model, found: Extraction) -> Extraction:
    """Attach the proof for all words, if there is one and the machine is small."""
    if not found.faithful or found.dfa.num_states * len(found.dfa.alphabet) > MAX_PAIRS:
        return found
    try:
        proof = certify(model, found.dfa)
    except ExtractionError as error:
        return replace(found, refusal=str(error))
    if isinstance(proof, Refusal):
        return replace(found, refusal=str(proof))
    return replace(found, certificate=proof, steps=(*found.steps, "proved for all words"))
