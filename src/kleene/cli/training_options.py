"""Options of `kleene train` made from the parameters of the estimator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import Field
from typing import Annotated, Any, get_type_hints

import typer

from kleene.config import Parameters, in_order


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every parameter that has one.

    The command takes them together, as the argument `parameters`.
    """
    hints = get_type_hints(command, include_extras=True)
    own = [
        one.replace(annotation=hints[one.name])
        for one in inspect.signature(command).parameters.values()
        if one.name != "parameters"
    ]
    options = list(_options())

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        given = {one.name: arguments.pop(one.name) for one in options}
        command(**arguments, parameters=given)

    arranged = [*own, *options]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in arranged]
    )
    run.__annotations__ = {one.name: one.annotation for one in arranged} | {"return": None}
    return run


def _options() -> Iterator[inspect.Parameter]:
    hints = get_type_hints(Parameters)
    for one in in_order(Parameters):
        if one.metadata["option"]:
            yield inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=one.default,
                annotation=Annotated[hints[one.name], _option(one)],
            )


def _option(one: Field[Any]) -> Any:
    flag, about = f"--{one.name.replace('_', '-')}", one.metadata
    if isinstance(about["option"], str):
        flag = about["option"]
    elif one.default is True:
        flag = f"{flag}/--no-{flag[2:]}"
    help, _, default = about["help"].partition(" None: ")
    if default:
        help = f"{help} [default: {default.rstrip('.')}]"
    return typer.Option(flag, metavar=about["values"] or None, help=help.replace("`", ""))
