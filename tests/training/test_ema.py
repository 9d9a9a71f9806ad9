"""The running average of the weights: what it is, when it is tested, and that it stays."""

from __future__ import annotations

from dataclasses import replace

import torch
from toys import make_network, same_bits, weights_of, words_ending_in_5

from kleene.evaluation.metrics import evaluate
from kleene.training.ema import ema_weights, track_ema
from kleene.training.loop import fit
from kleene.training.stages import Stage

EXAMPLES, VALIDATION = words_ending_in_5(4), words_ending_in_5(3)
STAGE = Stage(epochs=3, batch_size=16, learning_rate=0.02)


def test_it_is_the_textbooks() -> None:
    weight = torch.nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    track_ema(optimizer, 0.6)
    expected = None
    for step in range(1, 20):
        weight.grad = torch.randn(3)
        optimizer.step()
        share = min(0.6, (1 + step) / (10 + step))
        last = weight.detach().clone()
        expected = last if expected is None else share * expected + (1 - share) * last
    with ema_weights(optimizer):
        torch.testing.assert_close(weight.detach(), expected)
    torch.testing.assert_close(weight.detach(), last, rtol=0, atol=0)


def test_the_average_stays_and_does_not_disturb_the_steps() -> None:
    plain, network = make_network(), make_network()
    losses = fit(plain, EXAMPLES, stages=[STAGE]).curve("loss")
    history = fit(network, EXAMPLES, stages=[replace(STAGE, ema=0.9)])
    assert history.curve("loss") == losses
    assert not same_bits(weights_of(network), weights_of(plain))


def test_the_average_is_what_is_held_against_the_validation_words() -> None:
    network, stage = make_network(), replace(STAGE, patience=3)
    plain = fit(make_network(), EXAMPLES, stages=[stage], validation=VALIDATION)
    stages = [replace(stage, ema=0.9)]
    history = fit(network, EXAMPLES, stages=stages, validation=VALIDATION)
    assert history.curve("validation_loss") != plain.curve("validation_loss")
    assert evaluate(network, VALIDATION).accuracy == max(history.curve("validation_accuracy"))


def test_nothing_is_kept_where_no_average_is_asked_for() -> None:
    weight = torch.nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    weight.grad = torch.ones(3)
    optimizer.step()
    before = weight.detach().clone()
    with ema_weights(optimizer):
        torch.testing.assert_close(weight.detach(), before, rtol=0, atol=0)
