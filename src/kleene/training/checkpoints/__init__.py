"""Runs on disk: what a checkpoint holds, when it is written, how a run continues from it."""
