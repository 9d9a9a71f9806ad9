"""Write the table of attacks into the page about proofs: python tests/proof/attack_table.py"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from attacks import ATTACKS  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "explanation" / "proofs.md"

if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition("<!-- attacks -->")
    after = rest[rest.index("\n## ") :]
    rows = [f"| {i} | {text} | refused |" for i, text in enumerate(ATTACKS, 1)]
    table = "\n".join(["| | attack | answer |", "| --- | --- | --- |", *rows])
    PAGE.write_text(f"{before}<!-- attacks -->\n{table}\n{after}")
