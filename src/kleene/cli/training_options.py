"""The options of `kleene train`, from the parameters of the estimator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import Field
from typing import Annotated, Any, get_type_hints

import typer

from kleene.config import NetworkOptions, Parameters, TrainConfig, described

PANELS = {"": "Network", "network": "Network", "training": "Training"}


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
    options, groups = list(_options()), {one.name: group for group, one in described()}

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        given: dict[str, Any] = {"network": {}, "training": {}}
        for one in options:
            value, group = arguments.pop(one.name), groups[one.name]
            if not group:
                given[one.name] = value
            elif value is not None:
                given[group][one.name] = value
        command(**arguments, parameters=given)

    arranged = [*own, *options]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in arranged]
    )
    run.__annotations__ = {one.name: one.annotation for one in arranged} | {"return": None}
    return run


def _options() -> Iterator[inspect.Parameter]:
    kinds = {"": Parameters, "network": NetworkOptions, "training": TrainConfig}
    for group, one in described():
        if one.metadata["option"]:
            hint = get_type_hints(kinds[group])[one.name]
            default = one.default
            if group == "network":  # what is not given follows from the data
                hint, default = hint | None, None
            yield inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[hint, _option(one, PANELS[group])],
            )


def _option(one: Field[Any], panel: str) -> Any:
    flag, about = f"--{one.name.replace('_', '-')}", one.metadata
    if isinstance(about["option"], str):
        flag = about["option"]
    elif one.default is True:
        flag = f"{flag}/--no-{flag[2:]}"
    help, _, default = about["help"].partition(" None: ")
    if default:
        help = f"{help} [default: {default.rstrip('.')}]"
    return typer.Option(
        flag,
        metavar=about["values"] or None,
        help=help.replace("`", ""),
        rich_help_panel=panel,
    )
