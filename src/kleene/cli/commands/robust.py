"""`kleene robust`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import answer, answer_json, columns, say
from kleene.cli.options import MAX_LENGTH, NO_LAYOUT, Json, MaxLength, ModelFolder, reads_data
from kleene.errors import AlphabetError, DataError, SettingError
from kleene.files import read_regular

if TYPE_CHECKING:
    from kleene.data.layout import Layout
    from kleene.machine import Symbol, Word
    from kleene.model import Model
    from kleene.proof.robustness import EditSearch


@reads_data
def robust(
    model: ModelFolder,
    sequence: Annotated[
        str | None, typer.Argument(metavar="[SEQUENCE]", help="The sequence.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="DATA", help="All sequences of a file; - is stdin.")
    ] = None,
    edits: Annotated[int, typer.Option(metavar="N", help="At most so many edits.", min=0)] = 1,
    kinds: Annotated[
        str, typer.Option(metavar="KINDS", help="Which edits, with commas between.")
    ] = "substitute,insert,delete",
    substitutes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='JSON: {"symbol": ["substitute", ...]}. [default: any symbol for any other]',
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Verify this proof. [default: prove the network's own automaton]"
        ),
    ] = None,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Decide whether a few edits can change the label of a sequence.

    The answer is exact, by a search in the automaton that the model is proved to be. Status 0: no
    edit of at most N symbols changes the label. Status 1: some do, and the shortest is shown.
    Status 2: a mistake, or a model without a proof. For a file the answer is the share of sequences
    whose label no n edits change, for each n up to N, and the status is 0.

    \b
    Example:
      kleene robust model 0110 --edits 2
      kleene robust model --file words.txt --edits 3 --kinds substitute --json
    """
    if (sequence is None) == (file is None):
        raise SettingError("give a sequence or --file, one of the two")
    from kleene.model import Model
    from kleene.proof.certificate import Certificate
    from kleene.proof.robustness import EditSearch, certified_dfa

    trained = Model.load(model)
    allowed = None if substitutes is None else _substitutes(substitutes, trained)
    proof = None if certificate is None else Certificate.load(certificate)
    chosen = [kind.strip() for kind in kinds.split(",")]
    dfa = certified_dfa(trained, proof)
    search = EditSearch(dfa, edits=edits, kinds=chosen, substitutes=allowed)
    if file is not None:
        _answer_file(search, _read(trained, file, layout, max_length), json=json)
        return
    found = search(trained.words([str(sequence)], typed=True)[0])
    if json:
        answer_json(found.to_dict())
    else:
        answer(str(found))
    if not found.certified:
        raise typer.Exit(1)


def _answer_file(search: EditSearch, words: list[Word], *, json: bool) -> None:
    """The share that is certified at each number of edits; unknown symbols are not covered."""
    from kleene.proof.robustness import certified_share

    results, unknown = [], 0
    for word in words:
        try:
            results.append(search(word))
        except AlphabetError:
            unknown += 1
    total = max(len(words), 1)
    shares = [s * len(results) / total for s in certified_share(results, search.budget)]
    if json:
        answer_json(
            {
                "sequences": len(words),
                "unknown_symbols": unknown,
                "kinds": list(search.kinds),
                "certified_share": shares,
            }
        )
        return
    rows = [[str(n), f"{share:.2%}"] for n, share in enumerate(shares)]
    answer(columns(["edits", "certified"], rows))
    if unknown:
        say(f"{unknown} of {len(words)} sequences have unknown symbols and are not certified")


def _substitutes(path: Path, model: Model) -> dict[Symbol, list[Symbol]]:
    """Lists of allowed substitutes; symbols that are no texts are named by their text."""
    symbols = {str(symbol): symbol for symbol in model.alphabet.symbols}
    try:
        content = json_format.loads(read_regular(path))
        named = {old: [str(s) for s in new] for old, new in content.items()}
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; give a JSON file") from None
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise DataError(
            f'{path} must be JSON like {{"a": ["b"]}}, got {error!s:.100}; write it so'
        ) from None
    for name in (n for old, new in named.items() for n in (old, *new)):
        if name not in symbols:
            raise AlphabetError(f"{path}: the symbol {name!r} is not in the alphabet; remove it")
    return {symbols[old]: [symbols[s] for s in new] for old, new in named.items()}


def _read(model: Model, path: str, layout: Layout, max_length: int) -> list[Word]:
    from kleene.cli.input import DataSource

    source = DataSource(path=path, layout=layout, max_length=max_length)
    return source.words(model)[0]
