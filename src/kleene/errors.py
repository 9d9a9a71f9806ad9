"""Every error a user can cause, in one place; each docstring names the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class KleeneError(Exception):
    """Base of all errors raised on purpose.

    A message says what must hold, what it got and what to do. The command line prints it as one
    line and exits with status 2.
    """


class DataError(KleeneError, ValueError):
    """A data file, word or label could not be read: correct the line that the message names."""


class AlphabetError(KleeneError, ValueError):
    """A symbol is not in the alphabet, or two alphabets do not fit: use the symbols listed."""


class AutomatonError(KleeneError):
    """A table, a JSON file or a literal does not describe an automaton: correct the entry named."""


class ModelError(KleeneError):
    """A model folder is missing, truncated, of another version or tampered with: train again."""


class SettingError(KleeneError, ValueError):
    """A parameter has a value that makes no sense: choose one of those the message lists."""


class TrainingError(KleeneError):
    """Training cannot go on: lower the learning rate, or look at the data the message names."""


class NotFittedError(KleeneError, ValueError, AttributeError):
    """The model has not been trained yet: call `fit` first, or `load` a trained one."""


class ExtractionError(KleeneError):
    """The network does not allow this way of extraction: use the method that the message names."""


class WorkerError(KleeneError):
    """Another process of the same job has ended: start it again, training with `--resume`."""


class MissingExtraError(KleeneError, ImportError):
    """An optional package is not installed: run the command in the message."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around the import of optional packages; `name` is the extra of Kleene that has them."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "kleene").partition(".")[0]
        if package == "kleene":
            raise
        install = f'pip install "kleene[{name}]"'
        raise MissingExtraError(f"this needs the package {package}; run `{install}`") from None


class DataWarning(UserWarning):
    """The data can be used but looks wrong: equal sequences with different labels, for example."""
