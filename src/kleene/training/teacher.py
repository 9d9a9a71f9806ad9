"""A machine that teaches a network its states.

At every step the network's distribution over its centroids is pulled towards the state in which the
machine is: loss = - mean_t log alpha_t[q_t], with q_t the machine's state after t symbols.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet
from kleene.data.batch import Batch
from kleene.nn.classifier import Classifier
from kleene.nn.recurrence import Scan

UNTAUGHT = -100


@dataclass(frozen=True)
class Teacher:
    """An automaton whose states are the network's, over the network's own alphabet."""

    dfa: DFA

    def targets(self, batch: Batch) -> NDArray[np.int64]:
        """The state after the start token and after every symbol, packed as in the batch.

        After a symbol that the automaton does not know, nothing is taught.
        """
        table = np.full((self.dfa.num_states + 1, len(self.dfa.alphabet) + 1), -1)
        table[:-1, :-1] = self.dfa.transitions
        columns = Alphabet.columns(batch.tokens)
        columns = np.where(columns < 0, len(self.dfa.alphabet), columns)
        states = np.full(len(batch), self.dfa.initial)
        targets, start = [states], 0
        for size in batch.batch_sizes:
            states = table[states[:size], columns[start : start + size]]
            targets.append(states)
            start += size
        flat = np.concatenate(targets)
        return np.where(flat < 0, UNTAUGHT, flat)

    def loss(self, network: Classifier, scan: Scan, batch: Batch) -> Tensor:
        """How far the network is from the machine's states."""
        component = network.rnn.recurrence(network.rnn.num_layers - 1).component
        assert component is not None
        assert scan.scores is not None
        targets = torch.from_numpy(self.targets(batch)).to(scan.scores.device)
        return cross_entropy(scan.scores / component.temperature, targets, ignore_index=UNTAUGHT)
