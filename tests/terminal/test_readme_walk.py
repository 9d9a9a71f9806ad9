"""The README's commands, as a newcomer copies them."""

from __future__ import annotations

from pathlib import Path

import pytest
from readme_walk import commands, failed, walk


def test_commands_are_found_without_comments_and_joined() -> None:
    text = "```sh\n# first\nkleene a b   # why\nkleene c \\\n  --d\n```\n```python\nx = 1\n```\n"
    assert [" ".join(line.split()) for line in commands(text)] == ["kleene a b", "kleene c --d"]


@pytest.mark.slow
def test_every_command_of_the_readme_ends_well(tmp_path: Path) -> None:
    done = 0
    for step in walk(tmp_path):
        assert not failed(step), f"{step.command}\n{step.run.text if step.run else ''}"
        if step.run is not None:
            done += 1
            step.run.assert_clean()
    assert done
