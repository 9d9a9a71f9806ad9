"""XES event logs (IEEE 1849): one sequence a trace, read a piece at a time.

Document type declarations are refused, so that no entity is ever expanded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any
from xml.parsers import expat

from kleene.data.events import not_ordered, position_of
from kleene.data.layout import LABEL_NAMES, Example, Layout
from kleene.data.lines import Lines
from kleene.errors import DataError

NAME = "concept:name"
MAX_DEPTH = 100
MAX_EVENTS = 10_000_000  # of one trace
_CHUNK = 2**16
Attributes = dict[str, str]


def xes_examples(lines: Lines, layout: Layout, labelled: bool) -> tuple[Layout, Iterator[Example]]:
    """The traces of a log; a label is an attribute of its trace."""
    traces = _traces(lines)
    begin = next(traces, None)
    if begin is None:
        raise DataError(f"{lines.name} has no traces; give a log with <trace> elements")
    layout = layout.resolve([*begin[0], *(key for event in begin[1][:1] for key in event)])
    label = layout.label_column
    if label is None:
        usual = [name for name in begin[0] if name.lower() in LABEL_NAMES]
        label = usual[0] if len(usual) == 1 else None
    if labelled and label is None:
        names = ", ".join(map(repr, begin[0]))[:200] or "none"
        raise lines.error(
            f"cannot tell the label among the attributes of a trace ({names}); name one with "
            "--label-column",
            begin[2],
        )
    found = replace(layout, label_column=label, event_column=layout.event_column or NAME)

    def examples() -> Iterator[Example]:
        for attributes, events, line in chain([begin], traces):
            value = None if label is None else attributes.get(label)
            if labelled and not value:
                raise lines.error(f"the trace has no attribute {label!r}; add its label", line)
            word = _word(lines, events, found, line)
            yield Example(word, value or None, line, attributes.get(NAME))

    return found, examples()


def _word(lines: Lines, events: list[Attributes], layout: Layout, line: int) -> tuple[str, ...]:
    for key in (layout.event_column, layout.order_column):
        if key is not None and any(key not in event for event in events):
            raise lines.error(f"an event of the trace has no attribute {key!r}; add it", line)
    if layout.order_column is not None:
        events = _ordered(lines, events, layout.order_column, line)
    return tuple(event[str(layout.event_column)] for event in events)


def _ordered(lines: Lines, events: list[Attributes], order: str, line: int) -> list[Attributes]:
    positions: list[Any] = []
    for event in events:
        positions.append(position_of(event[order]))
        if positions[-1] is None:
            raise lines.error(not_ordered(order, event[order]), line)
    if len(set(map(type, positions))) > 1:
        raise lines.error(f"numbers and dates are mixed in {order!r}", line)
    return [events[i] for i in sorted(range(len(events)), key=positions.__getitem__)]


def _traces(lines: Lines) -> Iterator[tuple[Attributes, list[Attributes], int]]:
    """The attributes of every trace, those of its events, and its line."""
    reader = _Reader(lines)
    with lines.open() as stream:
        more = True
        while more:
            content = stream.read(_CHUNK)
            more = bool(content)
            reader.feed(content)
            yield from reader.take()


class _Reader:
    def __init__(self, lines: Lines) -> None:
        self.lines, self.path = lines, []  # type: tuple[Lines, list[str]]
        self.trace: Attributes = {}
        self.events: list[Attributes] = []
        self.line = 0
        self.done: list[tuple[Attributes, list[Attributes], int]] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse

    def feed(self, content: bytes) -> None:
        """Parse the next bytes; none are the end."""
        try:
            self.parser.Parse(content, not content)
        except DataError:  # raised by the handlers below
            raise
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise self.lines.error(
                f"malformed or incomplete XML ({reason}); get or export the log again",
                error.lineno,
            ) from None
        except (LookupError, ValueError) as error:  # an encoding that Python does not know
            raise self.lines.error(f"{error!s:.80}; save the log in UTF-8", 1) from None

    def take(self) -> list[tuple[Attributes, list[Attributes], int]]:
        """The traces completed since the last call."""
        done, self.done = self.done, []
        return done

    def _refuse(self, *_: object) -> None:
        line = self.parser.CurrentLineNumber
        raise self.lines.error("document type declarations are refused; remove <!DOCTYPE>", line)

    def _start(self, name: str, attributes: Attributes) -> None:
        tag, path = name.rpartition(" ")[2], self.path
        if not path and tag != "log":
            raise self.lines.error(f"the root must be <log>, got <{tag[:40]}>; give an XES log", 1)
        if len(path) > MAX_DEPTH:
            raise self.lines.error("elements nested too deep", self.parser.CurrentLineNumber)
        path.append(tag)
        if path == ["log", "trace"]:
            self.trace, self.events, self.line = {}, [], self.parser.CurrentLineNumber
        elif path == ["log", "trace", "event"]:
            self.events.append({})
            if len(self.events) > MAX_EVENTS:
                raise self.lines.error(f"a trace of more than {MAX_EVENTS:,} events", self.line)
        elif "key" in attributes and "value" in attributes:
            if path[:-1] == ["log", "trace"]:
                self.trace[attributes["key"]] = attributes["value"]
            elif path[:-1] == ["log", "trace", "event"]:
                self.events[-1][attributes["key"]] = attributes["value"]

    def _end(self, name: str) -> None:
        if self.path == ["log", "trace"]:
            self.done.append((self.trace, self.events, self.line))
        self.path.pop()
