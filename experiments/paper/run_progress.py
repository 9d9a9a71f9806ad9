"""Messages while many runs go: a line for each epoch that was validated, and one for each run."""

from __future__ import annotations

from kleene.cli.console import say
from kleene.training.history import Epoch
from kleene.training.progress import Reporter


class Runs(Reporter):
    """A `Reporter` that counts runs and says how training goes in the present one."""

    def __init__(self, total: int = 0) -> None:
        self.total, self.number, self.name = total, 0, ""

    def start(self, name: str) -> None:
        """The next run."""
        self.name, self.number = name, self.number + 1

    def finish(self, outcome: str) -> None:
        """End of this run, or of one that was done before."""
        say(f"{self.number} of {self.total}: {self.name}: {outcome}")

    def end(self, epoch: Epoch) -> None:
        """An epoch is over."""
        if epoch.validation_accuracy is not None:
            figures = f"loss {epoch.loss:.4f}, {epoch.accuracy:.1%}"
            validation = f"validation {epoch.validation_accuracy:.1%}"
            say(f"{self.name}: {epoch.stage} {epoch.epoch + 1}: {figures}, {validation}")
