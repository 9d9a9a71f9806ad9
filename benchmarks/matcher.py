"""Matching speed against automata-lib and `re`, on the same words in the same run.

    python benchmarks/matcher.py

All contestants must give the same answers. Times are process CPU seconds, medians over interleaved
rounds; results are ratios, written to benchmarks/results/matcher.json. Automata-lib reads a sample
of the words only, because it would take minutes over all of them.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import time
from collections.abc import Callable

import numpy as np
from timing import write

from kleene.automata import DFA, Matcher

ROUNDS = 9
SAMPLE = 200_000  # symbols for automata-lib

NO_000 = DFA.from_table(  # Tomita 4: no three zeros in a row
    {"0": {"0": "1", "1": "0"}, "1": {"0": "2", "1": "0"}, "2": {"1": "0"}},
    start="0",
    accept={"0", "1", "2"},
)


def sample_words(count: int, lengths: range, seed: int) -> list[str]:
    """Words without 000, half of which end in 000, so that no contestant can stop early."""
    rng = random.Random(seed)
    words = []
    for i in range(count):
        blocks: list[str] = []
        length = rng.choice(lengths)
        while sum(map(len, blocks)) < length:
            blocks.append(rng.choice(("1", "01", "001")))
        words.append("".join(blocks)[:length].rstrip("0") + ("000" if i % 2 else ""))
    return words


def measure(contestants: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS + 1):
        for name, run in contestants.items():
            begin = time.process_time()
            run()
            times[name].append(time.process_time() - begin)
    return {name: statistics.median(values[1:]) for name, values in times.items()}  # 1st: warm up


def compare(words: list[str]) -> dict[str, float]:
    dfa = NO_000
    symbols = sum(map(len, words))
    few = words[: max(1, SAMPLE * len(words) // symbols)]
    share = sum(map(len, few)) / symbols
    compiled, with_numpy = Matcher(dfa, compiled=True), Matcher(dfa, compiled=False)
    pattern = re.compile(dfa.to_regex())
    peer = dfa.to_automata_lib()
    contestants: dict[str, Callable[[], object]] = {
        "compiled": lambda: compiled(words),
        "numpy": lambda: with_numpy(words),
        "re": lambda: [pattern.fullmatch(word) is not None for word in words],
        "automata_lib": lambda: [peer.accepts_input(word) for word in few],
    }
    answers = {name: np.asarray(run()) for name, run in contestants.items()}
    for name, answer in answers.items():
        assert (answer == answers["compiled"][: len(answer)]).all(), name
    seconds = measure(contestants)
    seconds["automata_lib"] /= share
    result = {f"{name}_msymbols_per_s": symbols / s / 1e6 for name, s in seconds.items()}
    for peer_name in ("re", "automata_lib"):
        for name in ("compiled", "numpy"):
            result[f"{name}_over_{peer_name}"] = seconds[peer_name] / seconds[name]
    return {key: round(value, 1) for key, value in result.items()}


def main() -> None:
    result = {
        "words_of_1000": compare(sample_words(4_000, range(1000, 1001), seed=0)),
        "words_of_100": compare(sample_words(40_000, range(100, 101), seed=1)),
        "words_of_10_to_50": compare(sample_words(100_000, range(10, 51), seed=2)),
    }
    print(json.dumps(result, indent=2))
    write("matcher", result)


if __name__ == "__main__":
    main()
