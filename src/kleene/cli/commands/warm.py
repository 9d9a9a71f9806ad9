"""`kleene warm`."""

from __future__ import annotations

from kleene.cli.console import say


def warm() -> None:
    """Compile the kernels now, so that no later command waits.

    Compiled code depends on the machine's CPU. It is cached beside the installed package, or in the
    folder that NUMBA_CACHE_DIR names, or in the user's cache folder. Run this once after an
    installation, or while an image is built.

    \b
    Example:
      kleene warm
      NUMBA_CACHE_DIR=/var/cache/kleene kleene warm
    """
    from kleene.automata import DFA
    from kleene.automata.matcher import Matcher
    from kleene.errors import SettingError
    from kleene.estimator import SequenceClassifier
    from kleene.languages import tomita
    from kleene.nn.fused import load_kernels

    if not load_kernels():
        raise SettingError(
            "the kernels cannot be compiled here; unset KLEENE_FUSED, and check that Numba works"
        )
    say("the kernels of networks are compiled")
    for symbol in ("0", "\u03b1"):  # one byte a character, and more
        Matcher(DFA.from_table({0: {symbol: 0}}, start=0, accept=[0]), compiled=True)([symbol])
    say("the kernels of automata are compiled")
    words, labels = tomita(1).sample(200, seed=0)
    SequenceClassifier(random_state=0).fit(words, labels)
    say("the kernels of training are compiled")
