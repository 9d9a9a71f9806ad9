"""Write requirements.lock: every package of an installation, with the SHA-256 of its file.

`pip install --require-hashes -r requirements.lock` then installs these files and no others. The
hashes are those of this platform and Python.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def resolved() -> list[dict[str, Any]]:
    """What pip would install for the project, as its report says."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    options = ["--quiet", "--report", "-", "-c", str(ROOT / "constraints.txt"), str(ROOT)]
    report = subprocess.run([*command, *options], stdout=subprocess.PIPE, check=True).stdout
    found: list[dict[str, Any]] = json.loads(report)["install"]
    return [
        item
        for item in found
        if not item.get("is_direct") or "archive_info" in item["download_info"]
    ]


def lines(items: list[dict[str, Any]]) -> list[str]:
    """One requirement a package, sorted by name."""
    found = []
    for item in items:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        found.append(f"{name.lower()}=={version} --hash=sha256:{digest}")
    return sorted(found)


if __name__ == "__main__":
    (ROOT / "requirements.lock").write_text("\n".join(lines(resolved())) + "\n")
