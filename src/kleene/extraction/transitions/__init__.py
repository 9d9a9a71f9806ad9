"""From traces of words to states and transition counts (Algorithm 1 of the paper)."""
