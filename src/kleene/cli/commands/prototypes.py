"""`kleene prototypes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kleene.cli.console import answer, answer_json
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    DataFile,
    Json,
    MaxLength,
    MinCount,
    ModelFolder,
    Top,
    reads_data,
)

if TYPE_CHECKING:
    from kleene.data.layout import Layout


@reads_data
def prototypes(
    model: ModelFolder,
    data: DataFile,
    top: Top = 10,
    min_count: MinCount = 5,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Show what the states stand for: symbols that lead to each.

    And the symbols that lead to each class.

    \b
    Example:
      kleene prototypes model reviews.csv --text-column review
      torchrun --nproc-per-node 4 -m kleene prototypes model corpus.tsv.gz
    """
    from kleene.cli.input import DataSource
    from kleene.distributed import init_process_group
    from kleene.explain.prototypes import read_prototypes
    from kleene.model import Model

    trained = Model.load(model)
    source = DataSource(path=data, layout=layout, max_length=max_length)
    with init_process_group() as process_group:
        found = read_prototypes(
            trained,
            source.each_word(trained, process_group),
            top=top,
            min_count=min_count,
            process_group=process_group,
        )
    answer_json(found.to_dict()) if json else answer(str(found))
