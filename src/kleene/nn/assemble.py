"""A `Classifier` from modules that were trained in a loop of one's own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from kleene.data.alphabet import END, FIRST_SYMBOL, PAD, START, UNKNOWN
from kleene.errors import ModelError
from kleene.nn.classifier import Classifier
from kleene.nn.config import CELLS, NetworkConfig
from kleene.nn.state_regularized import StateRegularized


def assemble(
    embedding: nn.Embedding,
    layer: StateRegularized,
    head: nn.Linear,
    *,
    ids: Sequence[int],
    start: int,
) -> Classifier:
    """The network that reads the start token and a word and classifies the last hidden vector.

    `ids` are the rows of `embedding` that belong to the symbols, in the order of the alphabet;
    `start` is the row that the loop fed before every word. The weights are copied.
    """
    _check(embedding, layer, head, [*ids, start])
    config = NetworkConfig(
        num_symbols=FIRST_SYMBOL + len(ids),
        num_classes=head.out_features,
        cell=layer.cell.name,
        input_size=embedding.embedding_dim,
        hidden_size=layer.hidden_size,
        num_states=layer.num_states,
        num_layers=layer.num_layers,
        transition=layer.transition.name,
        similarity=layer.similarity.name,
        temperature=layer.temperature,
        end_token=False,
    )
    network = Classifier(config)
    with torch.no_grad():
        rows = embedding.weight
        special: dict[int, Tensor] = {START: rows[start], PAD: rows.new_zeros(rows.shape[1])}
        special |= {END: special[PAD], UNKNOWN: rows[[*ids]].mean(0)}
        vectors = [special[i] for i in range(FIRST_SYMBOL)]
        network.embedding.weight.copy_(torch.stack([*vectors, *rows[[*ids]]]))
        for name, weight in layer.named_parameters():
            network.rnn.get_parameter(name).copy_(weight)
        network.head.weight.zero_()  # an LSTM's head also has columns for the memory
        network.head.weight[:, : head.in_features].copy_(head.weight)
        network.head.bias.zero_() if head.bias is None else network.head.bias.copy_(head.bias)
    network.rnn.regularized = layer.regularized
    return network.eval()


def _check(
    embedding: nn.Embedding, layer: StateRegularized, head: nn.Linear, rows: Sequence[int]
) -> None:
    if not isinstance(layer, StateRegularized):
        raise ModelError(
            f"layer must be an SRRNN, SRGRU or SRLSTM, got {type(layer).__name__}; "
            "read other networks with kleene.read"
        )
    if not layer.bias or layer.cell.name not in CELLS:
        raise ModelError("layer must have biases and one of Kleene's own cells")
    full = layer.hidden_size * (1 + layer.cell.has_memory)
    if head.in_features not in (layer.hidden_size, full):
        sizes = " or ".join(map(str, sorted({layer.hidden_size, full})))
        raise ModelError(f"head must take vectors of size {sizes}, got {head.in_features}")
    if embedding.embedding_dim != layer.input_size:
        raise ModelError(
            f"embedding and layer must fit, got vectors of size {embedding.embedding_dim} "
            f"for a layer of input size {layer.input_size}"
        )
    if min(rows) < 0 or max(rows) >= embedding.num_embeddings:
        raise ModelError(
            f"ids and start must be rows of the embedding, 0 to {embedding.num_embeddings - 1}"
        )
