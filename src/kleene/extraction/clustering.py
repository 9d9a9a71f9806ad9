"""The peers: k-means on hidden vectors, the classical control, and active learning (L*)."""

from __future__ import annotations

import numpy as np

from kleene.errors import SettingError
from kleene.extraction.context import Reading, Study
from kleene.extraction.counts import tally_counts, to_dfa, to_pfa
from kleene.extraction.fidelity import prefix_agreement
from kleene.extraction.partition import Nearest, walk
from kleene.extraction.record import Record, make_record
from kleene.extraction.words import Floats

_VECTORS = 6_000
_MOST = 64


def read_kmeans(study: Study) -> Reading:
    """Quantise the hidden vectors of any network; majorities decide successors and outputs.

    Without a number of centres it is doubled, from 2 on, until the automaton agrees with the
    network on every prefix of the words; otherwise the best number is kept.
    """
    record = make_record(study.model, study.words, hidden=True)
    vectors = _some(record.vectors, study.seed)
    most = min(_MOST, len(np.unique(vectors.round(4), axis=0)))
    if study.centres is not None and study.centres < 1:
        raise SettingError(f"centres={study.centres} came, choose at least 1")
    tried: dict[int, tuple[float, Reading]] = {}
    k = min(study.centres or 2, most)
    while k not in tried:
        reading = _with_centres(study, record, vectors, k)
        tried[k] = (prefix_agreement(study.model, reading.raw, record), reading)
        if study.centres is None and tried[k][0] < 1:
            k = min(2 * k, most)
    best, reading = max(tried.values(), key=lambda pair: pair[0])
    numbers = ", ".join(map(str, tried))
    told = f"k-means with {numbers} centres; the best agrees on {best:.2%} of the prefixes"
    return Reading(
        method="kmeans",
        raw=reading.raw,
        pfa=reading.pfa,
        walks=reading.walks,
        unseen=reading.unseen,
        steps=(told,),
    )


def read_lstar(study: Study) -> Reading:
    """Active learning with the network as teacher; see `kleene.extraction.lstar`."""
    from kleene.extraction.lstar import learn

    dfa, told = learn(study)
    return Reading(method="lstar", raw=dfa, steps=(told,))


def _with_centres(study: Study, record: Record, vectors: Floats, k: int) -> Reading:
    from sklearn.cluster import KMeans

    clusters = KMeans(k, n_init=1, random_state=study.seed).fit(vectors)
    walks = walk(record, Nearest(clusters.cluster_centers_.astype(np.float32)))
    tally = tally_counts(walks)
    raw, unseen = to_dfa(study.model, tally)
    pfa = to_pfa(study.model, tally)
    return Reading(method="kmeans", raw=raw, pfa=pfa, walks=walks, unseen=unseen)


def _some(vectors: Floats, seed: int) -> Floats:
    if len(vectors) <= _VECTORS:
        return vectors
    return np.random.default_rng(seed).choice(vectors, _VECTORS, replace=False)
