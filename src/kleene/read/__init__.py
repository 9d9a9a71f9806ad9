"""Reading trained networks, one idea a module; each is imported where it is needed.

`extract` (an automaton, checked), `certify` and `verify` (the proof for all words), `explain`,
`prototypes`, `phrases`, `features`, `summary` (what the states mean), `faithfulness` (how good an
explanation is), `settle` (from a trained cell to a network that is a machine).
"""
