"""How far an automaton agrees with the network it was read from."""
