"""`SRRNN`, `SRGRU` and `SRLSTM`: torch's recurrent modules with a finite set of states.

They take the arguments of `torch.nn.RNN`, `GRU` and `LSTM`, name their weights alike and return the
same results; they add the number of states, and `trace()`. With `num_states=0`, or while
`regularized` is False, they are the plain networks.
"""

from __future__ import annotations

import torch

from kleene.errors import SettingError
from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.similarity import Similarity, dot
from kleene.nn.state_regularized import StateRegularized
from kleene.nn.transition import Transition, mixture


class SRRNN(StateRegularized):
    """State-regularised Elman network; the arguments of `torch.nn.RNN`.

    h_t = sum_i alpha_i s_i with alpha = softmax(u_t . S / tau), u_t = phi(W x_t + R h_{t-1} + b)

    Args:
        input_size: the size of the input vectors.
        hidden_size: the size of the hidden vectors and centroids.
        num_layers: layers on top of each other, each with its own centroids.
        nonlinearity: phi, 'tanh' or 'relu'.
        bias: whether the cell has the biases b_ih and b_hh.
        batch_first: whether tensors are (batch, time, size) instead of (time, batch, size).
        dropout: on the output of every layer but the last, while training.
        bidirectional: must be False; here for the order of torch's arguments.
        num_states: the number of centroids; 0 for the plain network.
        transition: how the probabilities of the states become the next hidden vector.
        similarity: how near a vector is to a centroid.
        temperature: tau of the softmax.
        learn_temperature: whether tau is a parameter of the training.
        device, dtype: of the weights.

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
        *,
        num_states: int = 10,
        transition: Transition = mixture,
        similarity: Similarity = dot,
        temperature: float = 1.0,
        learn_temperature: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise SettingError(f"nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        super().__init__(
            Elman(nonlinearity),
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            num_states=num_states,
            transition=transition,
            similarity=similarity,
            temperature=temperature,
            learn_temperature=learn_temperature,
            device=device,
            dtype=dtype,
        )


class SRGRU(StateRegularized):
    """State-regularised GRU; the arguments of `torch.nn.GRU`.

    h_t = sum_i alpha_i s_i with alpha = softmax(u_t . S / tau), u_t = GRU(x_t, h_{t-1})

    Args:
        input_size: the size of the input vectors.
        hidden_size: the size of the hidden vectors and centroids.
        num_layers: layers on top of each other, each with its own centroids.
        bias: whether the cell has the biases b_ih and b_hh.
        batch_first: whether tensors are (batch, time, size) instead of (time, batch, size).
        dropout: on the output of every layer but the last, while training.
        bidirectional: must be False; here for the order of torch's arguments.
        num_states: the number of centroids; 0 for the plain network.
        transition: how the probabilities of the states become the next hidden vector.
        similarity: how near a vector is to a centroid.
        temperature: tau of the softmax.
        learn_temperature: whether tau is a parameter of the training.
        device, dtype: of the weights.

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
        *,
        num_states: int = 10,
        transition: Transition = mixture,
        similarity: Similarity = dot,
        temperature: float = 1.0,
        learn_temperature: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            GRU(),
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            num_states=num_states,
            transition=transition,
            similarity=similarity,
            temperature=temperature,
            learn_temperature=learn_temperature,
            device=device,
            dtype=dtype,
        )


class SRLSTM(StateRegularized):
    """State-regularised LSTM; the arguments of `torch.nn.LSTM`.

    h_t = sum_i alpha_i s_i with alpha = softmax(u_t . S / tau),
    u_t, c_t = LSTM(x_t, h_{t-1}, c_{t-1})

    Args:
        input_size: the size of the input vectors.
        hidden_size: the size of the hidden vectors and centroids.
        num_layers: layers on top of each other, each with its own centroids.
        bias: whether the cell has the biases b_ih and b_hh.
        batch_first: whether tensors are (batch, time, size) instead of (time, batch, size).
        dropout: on the output of every layer but the last, while training.
        bidirectional: must be False; here for the order of torch's arguments.
        proj_size: must be 0; the centroids are the projection.
        peephole: whether the gates see the memory: the paper's SR-LSTM-P.
        num_states: the number of centroids; 0 for the plain network.
        transition: how the probabilities of the states become the next hidden vector.
        similarity: how near a vector is to a centroid.
        temperature: tau of the softmax.
        learn_temperature: whether tau is a parameter of the training.
        device, dtype: of the weights.

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
        num_states: int = 10,
        transition: Transition = mixture,
        similarity: Similarity = dot,
        temperature: float = 1.0,
        learn_temperature: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if proj_size:
            raise SettingError(
                f"proj_size must be 0, got {proj_size}; the centroids are the projection"
            )
        super().__init__(
            LSTM(peephole),
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            num_states=num_states,
            transition=transition,
            similarity=similarity,
            temperature=temperature,
            learn_temperature=learn_temperature,
            device=device,
            dtype=dtype,
        )
