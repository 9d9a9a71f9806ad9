"""`SRRNN`, `SRGRU` and `SRLSTM`: torch's recurrent modules with a finite set of states.

They take the arguments of `torch.nn.RNN`, `GRU` and `LSTM`, name their weights alike and return the
same results; they add the number of states, and `trace()`. With `num_states=0`, or with
`mode=Mode(regularized=False)`, they are the plain networks.
"""

from __future__ import annotations

from typing import TypedDict, Unpack

import torch

from kleene.errors import SettingError
from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.similarity import Similarity
from kleene.nn.state_regularized import StateRegularized
from kleene.nn.transition import Transition


class States(TypedDict, total=False):
    """The arguments that torch's modules do not have, and device and dtype."""

    num_states: int
    """The number of centroids, 10 by default; 0 for the plain network."""
    transition: Transition
    """How the probabilities of the states become the next hidden vector; `mixture` by default."""
    similarity: Similarity
    """How near a vector is to a centroid; `dot` by default."""
    temperature: float
    """Tau of the softmax, 1 by default."""
    learn_temperature: bool
    """Whether tau is a parameter of the training; False by default."""
    device: torch.device | str | None
    dtype: torch.dtype | None


class SRRNN(StateRegularized):
    """State-regularised Elman network; the arguments of `torch.nn.RNN`, and those of `States`.

    h_t = sum_i alpha_i s_i with alpha = softmax(u_t . S / tau), u_t = phi(W x_t + R h_{t-1} + b)

    `nonlinearity` is phi, 'tanh' or 'relu'.

    >>> import torch
    >>> from kleene.nn import SRRNN
    >>> output, last = SRRNN(3, 8, num_states=5)(torch.zeros(7, 2, 3))
    >>> output.shape, last.shape
    (torch.Size([7, 2, 8]), torch.Size([1, 2, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        **states: Unpack[States],
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise SettingError(f"nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        torchs = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(Elman(nonlinearity), *torchs, **states)


class SRGRU(StateRegularized):
    """State-regularised GRU; the arguments of `torch.nn.GRU`, and those of `States`.

    h_t = sum_i alpha_i s_i with alpha = softmax(u_t . S / tau), u_t = GRU(x_t, h_{t-1})

    >>> import torch
    >>> from kleene.nn import SRGRU
    >>> output, last = SRGRU(3, 8, num_states=5)(torch.zeros(7, 2, 3))
    >>> output.shape, last.shape
    (torch.Size([7, 2, 8]), torch.Size([1, 2, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        **states: Unpack[States],
    ) -> None:
        torchs = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(GRU(), *torchs, **states)


class SRLSTM(StateRegularized):
    """State-regularised LSTM; the arguments of `torch.nn.LSTM`, and those of `States`.

    h_t = sum_i alpha_i s_i with alpha = softmax(u_t . S / tau),
    u_t, c_t = LSTM(x_t, h_{t-1}, c_{t-1})

    With `peephole` the gates see the memory: the paper's SR-LSTM-P. `proj_size` must be 0: the
    centroids are the projection.

    >>> import torch
    >>> from kleene.nn import SRLSTM
    >>> output, (last, memory) = SRLSTM(3, 8, num_states=5)(torch.zeros(7, 2, 3))
    >>> output.shape, memory.shape
    (torch.Size([7, 2, 8]), torch.Size([1, 2, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        peephole: bool = False,
        **states: Unpack[States],
    ) -> None:
        if proj_size:
            raise SettingError(
                f"proj_size must be 0, got {proj_size}; the centroids are the projection"
            )
        torchs = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(LSTM(peephole), *torchs, **states)
