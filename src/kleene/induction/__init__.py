"""From labelled sequences and a trained cell to a small automaton, taught to the network."""
