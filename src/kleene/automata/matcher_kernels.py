"""The compiled inner loop of the matcher; imported only when there is enough to run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kleene.automata.compiling import njit

LANES = 8
Array = npt.NDArray[Any]


@njit(cache=True, nogil=True, boundscheck=False)
def run_words(
    table: Array, codes: Array, lengths: Array, initial: int, width: int, final: Array
) -> None:
    """Run eight words at a time, side by side while all of them last, then each to its end.

    A step waits for the look-up before it; eight independent ones keep the processor busy. Unsigned
    positions spare the check for negative indices.
    """
    words = len(lengths)
    first = np.uint64(initial)
    one = np.uint64(1)
    begin = np.uint64(0)
    word = 0
    while word + LANES <= words:
        p0 = begin
        p1 = p0 + lengths[word]
        p2 = p1 + lengths[word + 1]
        p3 = p2 + lengths[word + 2]
        p4 = p3 + lengths[word + 3]
        p5 = p4 + lengths[word + 4]
        p6 = p5 + lengths[word + 5]
        p7 = p6 + lengths[word + 6]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = first
        shared = lengths[word]
        for lane in range(1, LANES):
            shared = min(shared, lengths[word + lane])
        t = np.uint64(0)
        while t < shared:
            s0 = np.uint64(table[s0 + codes[p0 + t]])
            s1 = np.uint64(table[s1 + codes[p1 + t]])
            s2 = np.uint64(table[s2 + codes[p2 + t]])
            s3 = np.uint64(table[s3 + codes[p3 + t]])
            s4 = np.uint64(table[s4 + codes[p4 + t]])
            s5 = np.uint64(table[s5 + codes[p5 + t]])
            s6 = np.uint64(table[s6 + codes[p6 + t]])
            s7 = np.uint64(table[s7 + codes[p7 + t]])
            t += one
        final[word], final[word + 1], final[word + 2], final[word + 3] = s0, s1, s2, s3
        final[word + 4], final[word + 5], final[word + 6], final[word + 7] = s4, s5, s6, s7
        for lane in range(word, word + LANES):
            state = np.uint64(final[lane])
            end = begin + lengths[lane]
            position = begin + shared
            while position < end:
                state = np.uint64(table[state + codes[position]])
                position += one
            final[lane] = np.uint32(state) // np.uint32(width)
            begin = end
        word += LANES
    for lane in range(word, words):
        state = first
        end = begin + lengths[lane]
        while begin < end:
            state = np.uint64(table[state + codes[begin]])
            begin += one
        final[lane] = np.uint32(state) // np.uint32(width)
