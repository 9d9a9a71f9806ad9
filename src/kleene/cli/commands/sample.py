"""`kleene sample`."""

from __future__ import annotations

import csv
import io
from enum import StrEnum
from typing import Annotated

import typer

from kleene.cli.options import Out, Seed


class Sample(StrEnum):
    """What can be made."""

    REVIEWS = "reviews"
    ORDERS = "orders"


def sample(
    name: Annotated[Sample, typer.Argument(metavar="NAME", help="Which data set.")],
    number: Annotated[
        int, typer.Option("-n", metavar="N", help="How many rows or cases.", min=1)
    ] = 500,
    seed: Seed = 0,
    out: Out = None,
) -> None:
    """Write a small data set to try the commands on.

    `reviews` are made from templates: a CSV with the columns text and label. `orders` is a made-up
    table of events with the columns case, event, time and label. For formal languages see
    `kleene languages sample`.

    \b
    Example:
      kleene sample reviews > reviews.csv
      kleene train reviews.csv --out model
      kleene sample orders > orders.csv
      kleene train orders.csv --case-column case --order-column time --out model
    """
    from kleene.datasets.made_orders import HEADER, made_orders
    from kleene.datasets.made_reviews import made_reviews
    from kleene.files import write_atomically

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if name is Sample.ORDERS:
        writer.writerows([HEADER, *made_orders(number, seed)])
    else:
        texts, labels = made_reviews(number, seed)
        writer.writerows([("text", "label"), *zip(texts, labels, strict=True)])
    if out is None:
        typer.echo(buffer.getvalue(), nl=False)
    else:
        write_atomically(out, buffer.getvalue())
