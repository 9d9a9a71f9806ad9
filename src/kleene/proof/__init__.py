"""Certificates that a network and an automaton agree on all words, and their verifier."""
