"""Gates that hold a memory: sharpening scales pre-activations, and nothing else."""

from __future__ import annotations

import pytest
import torch
from paper.sharpen_gates import set_forget_bias, sharpen_gates

from kleene.errors import SettingError
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig


def network(cell: str = "lstm-p", states: int = 3, layers: int = 1) -> Classifier:
    torch.manual_seed(0)
    return Classifier(
        NetworkConfig(
            num_symbols=8,
            num_classes=2,
            cell=cell,
            num_states=states,
            hidden_size=5,
            input_size=4,
            num_layers=layers,
        )
    ).eval()


@pytest.mark.parametrize("cell", ["lstm", "lstm-p"])
def test_saturating_scales_the_pre_activations(cell: str) -> None:
    """One step from any state, with the gates computed here from the unchanged weights."""
    made, factor = network(cell), 1.7
    rnn, tokens = made.rnn, torch.tensor([4, 5, 6])
    h, c = torch.randn(3, 5), torch.randn(3, 5)
    with torch.no_grad():
        a = rnn.project(made.embedding(tokens)) + h @ rnn.weight_hh_l0.T + rnn.bias_hh_l0
        a_i, a_f, a_g, a_o = a.chunk(4, -1)
        p = rnn.peephole_l0.clone() if cell == "lstm-p" else torch.zeros(3, 5)
        i, f = torch.sigmoid(factor * a_i + p[0] * c), torch.sigmoid(factor * a_f + p[1] * c)
        c_next = f * c + i * torch.tanh(factor * a_g)
        u = torch.sigmoid(a_o + p[2] * c_next) * torch.tanh(c_next)
        sharpen_gates(made, factor)
        found = rnn.recurrence(0).end(rnn.project(made.embedding(tokens)), h, c)
    assert torch.allclose(found[0], u, atol=1e-6)
    assert torch.allclose(found[1], c_next, atol=1e-6)


def test_forget_gates_start_open() -> None:
    made = network(layers=2)
    set_forget_bias(made, 2.5)
    for layer in range(2):
        total = getattr(made.rnn, f"bias_ih_l{layer}") + getattr(made.rnn, f"bias_hh_l{layer}")
        assert torch.equal(total[5:10], torch.full((5,), 2.5))
        assert not torch.isclose(total[:5], torch.tensor(2.5)).any()


def test_cells_without_memory_are_refused() -> None:
    with pytest.raises(SettingError, match="gru"):
        sharpen_gates(network("gru"))
    with pytest.raises(SettingError, match="factor must be > 0, got 0"):
        sharpen_gates(network(), 0)
