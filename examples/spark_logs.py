"""From an event table to scores in Spark: cases, counts, an automaton, answers.

pip install "kleene[data]" pyspark      # and Java 17
python examples/spark_logs.py
"""

from pyspark.sql import SparkSession

import kleene as kl
from kleene.datasets.samples import ORDERS_HEADER, made_orders
from kleene.engines import spark

session = SparkSession.builder.master("local[2]").getOrCreate()
events = session.createDataFrame([*made_orders(500)], [*ORDERS_HEADER])  # or session.read.parquet

# One row a case: its events in the order of their time, and its label.
cases = spark.sequences(events, case="case", event="event", order="time", label="label").cache()

# The distinct sequences with their counts are all that induction needs; they fit on the driver.
rows = spark.counts(cases).collect()
found = kl.induce(
    [row.sequence for row in rows],
    [row.label for row in rows],
    weights=[row["count"] for row in rows],
)
print(f"{len(rows)} distinct sequences, an automaton of {found.dfa.num_states} states")

# The automaton answers where the rows are; `found.dfa.to_sql(dialect="spark")` needs no Python.
scored = spark.score(cases, found.dfa, prefix="predicted_")
right = scored.where("label = predicted_label").count()
print(f"{right} of {cases.count()} cases are labelled right")
session.stop()
