"""Training to look at: loss and accuracy, and the automaton as it forms, epoch by epoch.

A `Watch` is a reporter, which is called after every epoch, and has a hook, which gets the network
and extracts its automaton at that moment. Neither draws random numbers, so that a watched run ends
in the same network as one without.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np
from fastapi import FastAPI

from kleene.data.alphabet import Alphabet
from kleene.errors import KleeneError
from kleene.extraction.context import open_context
from kleene.extraction.methods import METHODS, default_method
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.report.content import VOCABULARY
from kleene.report.figures import epoch_figures
from kleene.report.view import CROWD, automaton_view
from kleene.training.history import Epoch
from kleene.training.progress import Reporter
from kleene.training.stages import Stage
from kleene.web.app import add_page
from kleene.web.guard import Guard
from kleene.web.limits import Limits
from kleene.web.server import Server, address, bind

LOOKED_AT = 200  # words
CLUSTERS = 8  # of hidden vectors, while a network has no states yet
SHARE, MOST_REST = 4, 2.0  # rest for every second spent looking, and at most; in seconds
PATIENCE = 3.0  # seconds that the page has, at the end, to fetch what is new


class Watch:
    """The frames that the page shows, and the server that shows them."""

    def __init__(
        self,
        words: Sequence[Word],
        classes: Sequence[Label],
        alphabet: Alphabet,
        *,
        inner: Reporter,
        port: int = 0,
    ) -> None:
        some = np.random.default_rng(0).permutation(len(words))[:LOOKED_AT]
        self.words = [words[i] for i in sorted(some.tolist())]
        self.classes, self.alphabet, self.inner = tuple(classes), alphabet, inner
        self.frames: list[dict[str, Any]] = []
        self._machine: dict[str, Any] | None = None
        self._rest_until = 0.0
        self._asked = 0.0
        self._socket = bind("127.0.0.1", port)
        self.page = address(self._socket)
        self._server = Server(watch_app(self))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    # -- a reporter -----------------------------------------------------------------------------

    def __enter__(self) -> Watch:
        if not self._thread.is_alive():  # a run has several parts, the server only one life
            self._thread.start()
        self.inner.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.inner.__exit__(kind, error, trace)

    def begin(self, stage: Stage) -> None:
        """A stage starts."""
        self.inner.begin(stage)

    def step(self, stage: Stage, epoch: int, done: float) -> None:
        """A share of an epoch is done."""
        self.inner.step(stage, epoch, done)

    def end(self, epoch: Epoch) -> None:
        """An epoch is over."""
        self.inner.end(epoch)
        self.frames.append({"epoch": epoch_figures(epoch), "machine": self._machine})
        self._machine = None

    # -- the network ----------------------------------------------------------------------------

    def hook(self, network: Classifier, epoch: Epoch) -> Mapping[str, float]:
        """Read the automaton in the network as it is now, unless one was read just before."""
        if time.monotonic() >= self._rest_until:
            started = time.monotonic()
            self._machine = self._read(network)
            now = time.monotonic()
            self._rest_until = now + min(SHARE * (now - started), MOST_REST)
        return {}

    def finish(self, model: Model | None) -> None:
        """Show what came out, wait for the page to see it, and end the server."""
        machine = None if model is None else self._read(model.network)
        self.frames.append({"epoch": None, "machine": machine, "done": model is not None})
        deadline = time.monotonic() + PATIENCE
        count = len(self.frames)
        while time.monotonic() < deadline and self._asked and self._seen < count:
            time.sleep(0.05)
        self._server.should_exit = True
        self._thread.join(timeout=PATIENCE)

    _seen = 0

    def since(self, number: int) -> dict[str, Any]:
        """The frames from a number on."""
        self._asked = time.monotonic()
        frames = self.frames[max(number, 0) :]
        self._seen = max(self._seen, number)
        return {"frames": frames, "next": number + len(frames)}

    def _read(self, network: Classifier) -> dict[str, Any]:
        model = Model(network=network, alphabet=self.alphabet, classes=self.classes)
        if len(self.alphabet.symbols) > VOCABULARY:
            return {"note": "over a vocabulary of words the automaton is too large to draw"}
        method = default_method(model)
        try:
            context = open_context(model, self.words, seed=0, centres=CLUSTERS)
            dfa = replace(METHODS[method](context).raw.minimize(), names=None)
        except KleeneError as error:
            return {"note": str(error)}
        moves = len({(state, to) for state, row in enumerate(dfa.rows) for to in row})
        if moves > CROWD:
            return {"note": f"a machine of {dfa.num_states} states, too many to draw yet"}
        return {"view": automaton_view(dfa, exact=False).to_dict(), "method": method}


def watch_app(watch: Watch) -> Guard:
    """The page and its frames."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_page(app, "watch.js", "Kleene.watch")

    @app.get("/frames")
    async def frames(since: int = 0) -> dict[str, Any]:
        return watch.since(since)

    return Guard(app, limits=Limits(json=1024))
