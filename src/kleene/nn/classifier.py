"""A sequence classifier: symbols or vectors in, one score per class out.

start token, word -> recurrent layers -> end token, one cell application without the stochastic
component -> linear layer on the hidden vector and, where there is one, the memory. With
`pooling="states"` the linear layer reads statistics of the state probabilities alone:
logits = [10 mean_t alpha_t, 3 max_t alpha_t] W + b, so that every state has a weight per class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding

from kleene.data.alphabet import END, FIRST_SYMBOL, PAD, START, UNKNOWN
from kleene.data.batch import Batch
from kleene.errors import ExtractionError, ModelError, SettingError
from kleene.nn.config import CELLS, SIMILARITIES, TRANSITIONS, NetworkConfig
from kleene.nn.mode import HARD, OWN, Mode, inference
from kleene.nn.pooling import MAX_SCALE, MEAN_SCALE, pool
from kleene.nn.recurrence import Gates, LookedUp, Scan
from kleene.nn.state_regularized import StateRegularized
from kleene.nn.trace import Trace, make_trace

MANY_SYMBOLS, MANY_STEPS = 1_000, 2_048
"""Alphabets and batches from which on it pays to look at each symbol of a batch once."""


class Classifier(nn.Module):
    """The network of `SequenceClassifier`; results have the row order of the batch."""

    typical: Tensor
    """With `pooling="states"`, (3, state), for those who read weights of states: mean and maximum
    of the state probabilities in a training word, and the share of each state's symbols that agree
    with its weight. Scores do not depend on it."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        cell = config.cell_object
        vectors = torch.empty(config.num_symbols or END + 1, config.input_size)
        self.embedding = nn.Embedding(len(vectors), config.input_size, _weight=vectors)
        if not vectors.is_meta:  # where it would import torch._dynamo, a second of work for nothing
            self.embedding.reset_parameters()
        self.rnn = StateRegularized(
            cell,
            config.input_size,
            config.hidden_size,
            config.num_layers,
            dropout=config.dropout,
            num_states=config.num_states,
            transition=TRANSITIONS[config.transition],
            similarity=SIMILARITIES[config.similarity],
            temperature=config.temperature,
            learn_temperature=config.learn_temperature,
        )
        size = config.hidden_size * (1 + cell.has_memory)
        if config.pooling == "states":
            size = 2 * config.num_states
            typical = torch.tensor([0.0, 0.0, 1.0])[:, None].repeat(1, config.num_states)
            self.register_buffer("typical", typical)
        self.head = nn.Linear(size, config.num_classes)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.head.weight.device

    def forward(self, batch: Batch, *, mode: Mode = OWN) -> Tensor:
        """Scores of the classes, (batch, class)."""
        return self.observe(batch, mode)[0]

    def observe(self, batch: Batch, mode: Mode = OWN) -> tuple[Tensor, list[Scan]]:
        """Scores of the classes, and the scan of every layer, packed as in the batch."""
        scans = self.scans(batch, mode)
        return self._decide(scans, batch, mode), scans

    def _decide(self, scans: list[Scan], batch: Batch, mode: Mode) -> Tensor:
        if self.config.pooling == "last":
            hidden, memory = [s.last_hidden for s in scans], [s.last_memory for s in scans]
            return self.classify(hidden, memory, mode)
        if self.config.pooling == "states":
            if (weights := scans[-1].weights) is None:
                raise SettingError(
                    "pooling='states' needs the states, which are off; train with recipe='direct'"
                )
            mean, largest = (pool(weights, _sizes(batch), mean=mean) for mean in (True, False))
            return self.classify_statistics(mean, largest)
        features = [scans[-1].hidden, scans[-1].memory]
        joined = torch.cat([part for part in features if part is not None], -1)
        return self._head(pool(joined, _sizes(batch), mean=self.config.pooling == "mean"), mode)

    def classify_statistics(self, mean: Tensor, largest: Tensor) -> Tensor:
        """Scores of the classes from mean and maximum over time of the state probabilities.

        Only for `pooling="states"`; dropout is for what comes before the states.
        """
        scores: Tensor = self.head(torch.cat([MEAN_SCALE * mean, MAX_SCALE * largest], -1))
        return scores

    def classify(
        self, hidden: Sequence[Tensor], memory: Sequence[Tensor | None], mode: Mode = OWN
    ) -> Tensor:
        """Scores of the classes after the last symbol, from the state of every layer."""
        last, c = hidden[-1], memory[-1]
        if self.config.end_token:
            end = self.embedding.weight[END : END + 1]
            last, c = self.rnn.end(end, hidden, memory)
        return self._head(last if c is None else torch.cat([last, c], -1), mode)

    def trace(self, batch: Batch, *, mode: Mode = OWN) -> Trace:
        """The record of one pass; time 0 is the state after the start token."""
        return make_trace(self.scans(batch, mode), _sizes(batch))

    def scored_trace(self, batch: Batch, *, mode: Mode = OWN) -> tuple[Tensor, Trace]:
        """Scores of the classes, (batch, class), and the record of the same pass."""
        scans = self.scans(batch, mode)
        return self._decide(scans, batch, mode), make_trace(scans, _sizes(batch))

    def advance(self, states: Tensor | None, tokens: Tensor) -> tuple[list[Tensor], Tensor]:
        """One hard step of a memory-less network: from centroids to the nearest centroids.

        `states` are (n, layer), or None for the initial zero vectors; `tokens` are (n,). Returns
        the transition probabilities of every layer, (n, state), and the next states, (n, layer).
        """
        layers = range(self.rnn.num_layers)
        if states is None:
            hidden = [self.rnn.zeros(len(tokens)) for _ in layers]
        else:
            hidden = [self.rnn.centroids(i)[states[:, i]] for i in layers]
        x_gates = self.rnn.project(self.embedding(tokens))
        memory = [None for _ in layers]
        with inference(self, grad=True):
            scans = self.rnn.scan_layers(x_gates, [len(tokens)], hidden, memory, mode=HARD)
        trace = make_trace(scans, [len(tokens)])
        probs = [cast(Tensor, layer.probs)[:, 0] for layer in trace.layers]
        return probs, trace.global_states[:, 0]

    def classify_states(self, states: Tensor) -> Tensor:
        """Scores of the classes of words that end in the given states, (n, layer)."""
        layers = range(self.rnn.num_layers)
        hidden = [self.rnn.centroids(i)[states[:, i]] for i in layers]
        return self.classify(hidden, [None for _ in layers])

    def scans(self, batch: Batch, mode: Mode = OWN) -> list[Scan]:
        """The scan of every layer, packed, the start token's steps first."""
        data = torch.from_numpy(batch.tokens).to(self.device)
        x_gates = self._gates(data, len(batch), self._drops(mode))
        zeros = self.rnn.zeros(len(batch))
        layers = range(self.rnn.num_layers)
        memory = [zeros if self.rnn.cell.has_memory else None for _ in layers]
        start, pooled = ([zeros for _ in layers], memory), self.config.pooling in ("mean", "max")
        return self.rnn.scan_layers(x_gates, _sizes(batch), *start, mode=mode, with_hidden=pooled)

    def _gates(self, data: Tensor, batch: int, drops: bool) -> Gates:
        """The first layer's W x + b, the start token's in front: (steps, gates*hidden)."""
        vectors = self.embedding.weight
        if self.config.num_symbols:
            tokens = torch.cat([data.new_full((batch,), START), data])
            if len(tokens) >= len(vectors) and not drops:
                return LookedUp(ids=tokens, table=self.rnn.project(vectors))  # rows of E W
            if len(vectors) >= MANY_SYMBOLS and len(tokens) >= MANY_STEPS:
                symbols, ids = torch.unique(tokens, return_inverse=True)
                x = dropout(embedding(symbols, vectors), self.config.dropout, drops)
                return LookedUp(ids=ids, table=self.rnn.project(x))  # the same entries are dropped
            x = embedding(tokens, vectors)
        else:
            x = torch.cat([vectors[START].expand(batch, -1), data.to(vectors.dtype)])
        return self.rnn.inputs(dropout(x, self.config.dropout, drops))

    def _drops(self, mode: Mode) -> bool:
        on = self.training if mode.dropout is None else mode.dropout
        return on and self.config.dropout > 0

    def _head(self, features: Tensor, mode: Mode) -> Tensor:
        scores: Tensor = self.head(dropout(features, self.config.dropout, self._drops(mode)))
        return scores


def _sizes(batch: Batch) -> list[int]:
    """Words that have each step, the start token's first."""
    return [len(batch), *batch.batch_sizes.tolist()]


def adds_up(network: Classifier) -> bool:
    """Whether the shares of the steps add up to the logits."""
    return network.config.pooling == "states"


def state_weights(network: Classifier) -> tuple[Tensor, Tensor]:
    """What the mean and the maximum of each state give to the logits, (state, class) each.

    10 (W - m W): against a typical step; and 3 V.
    """
    if not adds_up(network):
        raise ExtractionError(
            "only networks with pooling='states' have weights of states; train one, "
            "or use the method evidence"
        )
    mean, largest = network.head.weight.detach().T.chunk(2)
    return MEAN_SCALE * (mean - network.typical[0] @ mean), MAX_SCALE * largest


def lead(scores: Tensor, classes: Tensor) -> Tensor:
    """The score of one class a word minus the mean of the others, (batch, ..., class) -> (...).

    It is linear, so that shares of the scores become shares of the lead; with two classes it is
    the log-odds.
    """
    count = scores.shape[-1]
    if count == 1:
        return torch.zeros_like(scores[..., 0])
    index = classes.view(-1, *(1,) * (scores.dim() - 1)).expand(*scores.shape[:-1], 1)
    own = scores.gather(-1, index).squeeze(-1)
    return own - (scores.sum(-1) - own) / (count - 1)


def full_weights(network: Classifier) -> Tensor:
    """What a word gains by being in a state throughout, (state, class).

    10 (W - m W) + 3 (1 - M) V
    """
    on_mean, on_max = state_weights(network)
    return on_mean + (1 - network.typical[1])[:, None] * on_max


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
    _check_parts(embedding, layer, head, [*ids, start])
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
    return network.eval()


def _check_parts(
    embedding: nn.Embedding, layer: StateRegularized, head: nn.Linear, rows: Sequence[int]
) -> None:
    if not isinstance(layer, StateRegularized):
        raise ModelError(
            f"layer must be an SRRNN, SRGRU or SRLSTM, got {type(layer).__name__}; "
            "read other networks with kleene.read"
        )
    if not layer.bias or layer.bidirectional or layer.cell.name not in CELLS:
        raise ModelError("layer must have biases, one direction and one of Kleene's own cells")
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
