"""Automata from networks that Kleene did not train."""
