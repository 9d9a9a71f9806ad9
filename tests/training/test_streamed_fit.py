"""Training from disk: interrupted anywhere it goes on to the same bits."""

from __future__ import annotations

from pathlib import Path

import pytest
from toys import make_network, same_bits, weights_of, without_time, words_ending_in_5

from kleene.data import store as store_module
from kleene.data.alphabet import Alphabet
from kleene.data.store import write_store
from kleene.data.streaming import Streamed
from kleene.training.centroids import seed_centroids
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
    Stage(name="states", epochs=3, batch_size=8, prepare=seed_centroids, patience=3),
]


@pytest.fixture
def streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Streamed:
    """126 words in blocks of 8, of which 3 are shuffled at a time."""
    monkeypatch.setattr(store_module, "BLOCK_WORDS", 8)
    examples = words_ending_in_5(6)
    store = write_store(
        tmp_path / "store",
        zip(examples.words, examples.labels.tolist(), strict=True),
        alphabet=Alphabet("ab"),
        classes=(False, True),
        tokens="chars",
        key="",
    )
    return Streamed(store=store, share=0.2, seed=1, window=3)


@pytest.mark.parametrize("steps", [1, 5, 20, 60])
def test_it_goes_on_to_the_same_bits(streamed: Streamed, steps: int, tmp_path: Path) -> None:
    def run(**more: object):
        network = make_network(dropout=0.1)
        settings = {"stages": STAGES, "validation": streamed.held_out()}
        return network, fit(network, streamed, **settings, run=Run(seed=2, **more))

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
    assert history.epochs[-1].words == len(streamed)
