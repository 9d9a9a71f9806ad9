"""The results folder of the experiments here."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from paper.ledger import Ledger as _Ledger

RESULTS = Path(__file__).parent / "results"
Ledger = partial(_Ledger, folder=RESULTS)
