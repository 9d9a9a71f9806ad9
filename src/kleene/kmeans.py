"""The centres of clusters, the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cluster_centres(
    vectors: NDArray[Any], count: int, seed: int, *, restarts: int = 1
) -> NDArray[np.float32]:
    """Centres of at most `count` clusters of the rows (k-means++).

    On one thread: scikit-learn adds up the parts of several in the order in which they finish.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    distinct = len(np.unique(vectors.round(5), axis=0))
    clusters = KMeans(min(count, distinct), n_init=restarts, random_state=seed % 2**31)
    with threadpool_limits(1):
        centres: NDArray[np.float32] = clusters.fit(vectors).cluster_centers_.astype(np.float32)
    return centres
