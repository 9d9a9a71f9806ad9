"""XES event logs (IEEE 1849): one sequence a trace, read a piece at a time.

Document type declarations are refused, so that no entity is ever expanded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NoReturn
from xml.parsers import expat

from kleene.data.layout import LABEL_NAMES, Example, Layout
from kleene.data.lines import Lines
from kleene.errors import DataError

NAME = "concept:name"
MAX_DEPTH = 100
MAX_EVENTS = 10_000_000  # of one trace
Attributes = dict[str, str]


@dataclass
class _Trace:
    line: int
    attributes: Attributes = field(default_factory=dict)
    events: list[Attributes] = field(default_factory=list)


def xes_examples(lines: Lines, layout: Layout, labelled: bool) -> tuple[Layout, Iterator[Example]]:
    """The traces of a log, in the order of the file; a label is an attribute of its trace."""
    if layout.order_column:
        raise DataError(f"{lines.name}: the events of a log have an order; omit --order-column")
    traces = _traces(lines)
    begin = next(traces, None)
    if begin is None:
        raise DataError(f"{lines.name} has no traces; give a log with <trace> elements")
    layout = layout.resolve([*begin.attributes, *(key for event in begin.events for key in event)])
    usual = [name for name in begin.attributes if name.lower() in LABEL_NAMES]
    label = layout.label_column or (usual[0] if len(usual) == 1 else None)
    if labelled and label is None:
        names = ", ".join(map(repr, begin.attributes))[:200] or "none"
        found = f"cannot tell the label among the attributes of a trace ({names})"
        raise lines.error(f"{found}; name one with --label-column", begin.line)
    name = layout.event_column or NAME

    def examples() -> Iterator[Example]:
        for trace in chain([begin], traces):
            value = None if label is None else trace.attributes.get(label)
            if labelled and not value:
                problem = f"the trace has no attribute {label!r}; add its label"
                raise lines.error(problem, trace.line)
            if any(name not in event for event in trace.events):
                problem = f"an event of the trace has no attribute {name!r}; add it"
                raise lines.error(problem, trace.line)
            word = tuple(event[name] for event in trace.events)
            yield Example(word, value or None, trace.line, trace.attributes.get(NAME))

    return replace(layout, label_column=label, event_column=name, order_column=None), examples()


def _traces(lines: Lines) -> Iterator[_Trace]:
    """Every trace with its attributes and those of its events, directly below them."""
    parser = expat.ParserCreate(namespace_separator=" ")
    path: list[str] = []
    traces: list[_Trace] = []

    def error(problem: str, line: int | None = None) -> DataError:
        return lines.error(problem, line or parser.CurrentLineNumber)

    def start(name: str, attributes: Attributes) -> None:
        tag = name.rpartition(" ")[2]
        if not path and tag != "log":
            raise error(f"the root must be <log>, got <{tag[:40]}>; give an XES log")
        if len(path) > MAX_DEPTH:
            raise error("elements nested too deep")
        path.append(tag)
        if path == ["log", "trace"]:
            traces.append(_Trace(parser.CurrentLineNumber))
        elif path == ["log", "trace", "event"]:
            traces[-1].events.append({})
            if len(traces[-1].events) > MAX_EVENTS:
                raise error(f"a trace of more than {MAX_EVENTS:,} events")
        elif "key" in attributes and "value" in attributes:
            if path[:-1] == ["log", "trace"]:
                traces[-1].attributes[attributes["key"]] = attributes["value"]
            elif path[:-1] == ["log", "trace", "event"]:
                traces[-1].events[-1][attributes["key"]] = attributes["value"]

    def refuse(*_: object) -> NoReturn:
        raise error("document type declarations are refused; remove <!DOCTYPE>")

    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    parser.EndElementHandler = lambda name: path.pop()
    with lines.open() as stream:
        more = True
        while more:
            content = stream.read(2**16)
            more = bool(content)
            try:
                parser.Parse(content, not more)
            except expat.ExpatError as problem:
                reason = f"malformed or incomplete XML ({expat.errors.messages[problem.code]})"
                raise error(f"{reason}; get or export the log again", problem.lineno) from None
            except (LookupError, ValueError) as problem:  # an encoding that Python does not know
                if isinstance(problem, DataError):
                    raise
                raise error(f"{problem!s:.80}; save the log in UTF-8", 1) from None
            whole = len(traces) - (path[:2] == ["log", "trace"])
            yield from traces[:whole]
            del traces[:whole]
