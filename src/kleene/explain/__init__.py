"""Explanations, prototypes, phrases and features, and how faithful they are to the network."""
