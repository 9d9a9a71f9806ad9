"""A page that shows a training run: loss, accuracy and the automaton, epoch by epoch.

A `Watch` is a reporter, which training calls after every epoch, with a hook that extracts the
automaton of the network. Neither draws random numbers, so watching does not change the network.
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
from kleene.extraction.methods import METHODS, default_method, open_context
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.report.content import VOCABULARY
from kleene.report.figures import epoch_figures
from kleene.report.view import MAX_ARROWS, automaton_view
from kleene.training.history import Epoch
from kleene.training.progress import Reporter
from kleene.training.stages import Stage
from kleene.web.app import add_page
from kleene.web.guard import Guard
from kleene.web.limits import Limits
from kleene.web.server import Server, address, bind

MAX_WORDS = 200  # words on which the automaton is read
CLUSTERS = 8  # of hidden vectors, while a network has no states yet
PAUSE_RATIO, MAX_PAUSE = 4, 2.0  # seconds of pause per second of reading, and at most
END_SECONDS = 3.0  # for the page to fetch the last frames


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
        some = np.random.default_rng(0).permutation(len(words))[:MAX_WORDS]
        self.words = [words[i] for i in sorted(some.tolist())]
        self.classes, self.alphabet, self.inner = tuple(classes), alphabet, inner
        self.frames: list[dict[str, Any]] = []
        self._machine: dict[str, Any] | None = None
        self._pause_until = 0.0
        self._asked = 0.0
        self._socket = bind("127.0.0.1", port)
        self.page = address(self._socket)
        self._server = Server(watch_app(self))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()  # the page opens before training begins

    # -- a reporter -----------------------------------------------------------------------------

    def __enter__(self) -> Watch:
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
        if time.monotonic() >= self._pause_until:
            started = time.monotonic()
            self._machine = self._read(network)
            now = time.monotonic()
            self._pause_until = now + min(PAUSE_RATIO * (now - started), MAX_PAUSE)
        return {}

    def finish(self, model: Model | None) -> None:
        """Show the result, wait for the page to fetch it, and end the server."""
        machine = None if model is None else self._read(model.network)
        self.frames.append({"epoch": None, "machine": machine, "done": model is not None})
        deadline = time.monotonic() + END_SECONDS
        count = len(self.frames)
        while time.monotonic() < deadline and self._asked and self._seen < count:
            time.sleep(0.05)
        self._server.should_exit = True
        self._thread.join(timeout=END_SECONDS)

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
        if moves > MAX_ARROWS:
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
