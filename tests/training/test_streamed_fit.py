"""Training from disk: interrupted anywhere it goes on to the same bits."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import make_network, same_bits, weights_of, without_time, words_ending_in_5

from kleene.data import store as store_module
from kleene.data.examples import Examples
from kleene.data.layout import Example
from kleene.data.store import encode, open_store
from kleene.training.centroids import spread_centroids
from kleene.training.loop import fit
from kleene.training.run import Run
from kleene.training.stages import Curriculum, Stage

STAGES = [
    Stage(
        name="cell",
        regularized=False,
        epochs=4,
        batch_size=8,
        learning_rate=0.02,
        curriculum=Curriculum(start=2, steps=4),
        patience=3,
        class_weight="balanced",
    ),
    Stage(name="states", epochs=3, batch_size=8, prepare=spread_centroids, patience=3),
]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Examples, Examples]:
    """126 words in batches of 8; some of them are for validation."""
    monkeypatch.setattr(store_module, "BATCH_ROWS", 8)
    examples = words_ending_in_5(6)
    words = [tuple(ids.tolist()) for ids in examples.words]
    rows = (Example(word, int(y), 1) for word, y in zip(words, examples.labels, strict=True))
    encode(tmp_path / "store", rows, tokens="symbols")
    store = open_store(tmp_path / "store")
    return Examples(words=store.words, labels=store.labels).split(0.2, 1)


@pytest.mark.parametrize("steps", [1, 5, 20, 60])
def test_it_goes_on_to_the_same_bits(
    stored: tuple[Examples, Examples], steps: int, tmp_path: Path
) -> None:
    training, validation = stored

    def run(**more: object):
        network = make_network(dropout=0.1)
        settings = {"stages": STAGES, "validation": validation}
        return network, fit(network, training, **settings, run=Run(seed=2, **more))

    class Stop:
        """Ctrl-C after some steps."""

        left = steps

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def begin(self, stage):
            pass

        def end(self, epoch):
            pass

        def step(self, stage, epoch, done):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    whole, history = run()
    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=tmp_path / "run", reporter=Stop())
    resumed, again = run(checkpoint=tmp_path / "run")
    assert same_bits(weights_of(resumed), weights_of(whole))
    assert without_time(again) == without_time(history)
    assert history.epochs[-1].words == len(training)
