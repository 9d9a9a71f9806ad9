"""From a trained network to an automaton that has been checked against it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import DataError, ReadingError, SettingError
from kleene.extraction.auto import read_auto
from kleene.extraction.checks.check import check
from kleene.extraction.context import STEPS, make_context, open_context
from kleene.extraction.counter.read import read_counter
from kleene.extraction.methods import METHODS, reading_from_counts, require_centroids
from kleene.extraction.result import Extraction
from kleene.extraction.transitions.corpus import count_corpus
from kleene.machine import Label
from kleene.model import Model
from kleene.proof.certificate import Refusal
from kleene.proof.certify import certify

MOST_PAIRS = 100_000  # of states and symbols; larger machines are proved by `certify` only

COUNTER = "counter"


def extract(
    model: Model,
    words: Iterable[Any] | None = None,
    *,
    method: str = "auto",
    labels: Iterable[Label] | None = None,
    seed: int = 0,
    centres: int | None = None,
    seconds: float = 10.0,
    max_queries: int = 200_000,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Extraction:
    """Read the automaton in a network, and say how far the two agree.

    `words` are what the reading looks at; without them some are drawn. `method` is one of

    - `table`: one step from every state on every symbol, exact in hard mode; memory-less cells;
    - `counts`, `mean`: from the traces of the words, the paper's two ways; any cell with centroids;
      `counts` goes through all words given, one by one where they are an iterator, and the
      processes of `process_group` share them;
    - `kmeans`: hidden vectors quantised into `centres` states; any network;
    - `lstar`: active learning, within `seconds` and `max_queries`; any network;
    - `counter`: as `counts`, and the one-counter machine in the memory, as `counter` of the result;
      LSTM cells with states and the words they are for;
    - `auto`: the cheapest that is faithful. Where the first reading is not, ambiguous states are
      split, then, given the words' `labels`, a copy of the network is sharpened, then it falls back
      on L*. Where all of that fails, the most faithful reading is returned, which `steps` tells.
    """
    if method not in ("auto", COUNTER, *METHODS):
        choices = ", ".join(("auto", *METHODS, COUNTER))
        raise SettingError(f"method must be one of {choices}, got {method!r}")
    started = time.perf_counter()
    if method == COUNTER:
        return _with_counter(model, words, seed=seed, started=started)
    if method == "counts" and words is not None:
        result = _read_corpus(model, words, seed=seed, process_group=process_group)
        return replace(_proved(result), seconds=time.perf_counter() - started)
    words = words if words is None or isinstance(words, str) else list(words)
    labels = None if labels is None else list(labels)
    if labels is not None and (words is None or len(labels) != len(words)):
        given = 0 if words is None else len(words)
        raise DataError(f"expected one label per word, got {len(labels)} for {given} words")
    context = open_context(
        model, words, seed=seed, seconds=seconds, max_queries=max_queries, centres=centres
    )
    if method == "auto":
        result = read_auto(context, words, labels)
    else:
        result = check(context, METHODS[method](context))
        result = replace(result, steps=(context.note, *result.steps))
    return replace(_proved(result), seconds=time.perf_counter() - started)


def _with_counter(
    model: Model, words: Iterable[Any] | None, *, seed: int, started: float
) -> Extraction:
    """The reading by counts, and beside it the counter machine."""
    if words is None:
        raise DataError("a counter is read along words of the task; give some")
    listed = list(words)
    counter = read_counter(model, listed, seed=seed)
    reading = replace(extract(model, listed, method="counts", seed=seed), method=COUNTER)
    return replace(reading, counter=counter, seconds=time.perf_counter() - started)


def _read_corpus(
    model: Model, words: Iterable[Any], *, seed: int, process_group: ProcessGroup
) -> Extraction:
    """The counts of all words, checked on as many as other methods look at."""
    require_centroids(model)
    corpus = count_corpus(model, words, seed=seed, steps=STEPS, process_group=process_group)
    context = make_context(model, corpus.sampled_words(), note=corpus.note, seed=seed)
    reading = reading_from_counts("counts", context, corpus.counts(context.prefixes))
    result = check(context, reading)
    return replace(result, steps=(context.note, *result.steps))


def _proved(reading: Extraction) -> Extraction:
    """The reading with its proof for all words, where it has one and the machine is small."""
    pairs = reading.dfa.num_states * len(reading.dfa.alphabet)
    if not reading.faithful or pairs > MOST_PAIRS:
        return reading
    try:
        proof = certify(reading.model, reading.dfa)
    except ReadingError as error:
        return replace(reading, refusal=str(error))
    if isinstance(proof, Refusal):
        return replace(reading, refusal=str(proof))
    return replace(reading, certificate=proof, steps=(*reading.steps, "proved for all words"))
