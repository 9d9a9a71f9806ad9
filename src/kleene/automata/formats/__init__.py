"""Automata as files, drawings and objects of other libraries, a format a module."""
