"""From a trained network to an automaton, checked against the network."""
