"""Engines that people run: a scorer for batches of rows, automata as SQL, helpers for each engine.

`model.scorer()` and `dfa.scorer()` make a function of batches that can be pickled:

    scorer(frame)                                        # pandas, polars, Arrow
    lazy_frame.map_batches(scorer, validate_output_schema=False)   # polars
    dask_frame.map_partitions(scorer, meta=scorer(dask_frame.head(0)))   # Dask
    dataset.map_batches(scorer, batch_format="pyarrow")  # Ray Data
    kleene.engines.spark.score(frame, model)             # Spark
    kleene.engines.duckdb.register(connection, "predict", model)   # DuckDB

`dfa.to_sql()` needs no Python at all.
"""

from kleene.engines.scorer import Scorer
from kleene.engines.sql import to_sql

__all__ = ["Scorer", "to_sql"]
