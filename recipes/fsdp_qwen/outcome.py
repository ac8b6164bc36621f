"""What a finished run has to say.

Needs no torch: the driver gets these values from rank 0, and reading them must not make it import
what only ranks need (that took three seconds at the end of each run).
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The mean loss per held-out token in nats.

    Before the first step, after the last, and the true source's own on the same rows, which no
    model can be expected to beat; None where nobody knows it. The best is that of all evaluated steps,
    None where only the first and the last were.
    """

    rows: int
    tokens: int
    loss_before: float
    loss: float
    source_loss: float | None
    best_step: int | None = None
    best_loss: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The outcome of a finished run; equal on all ranks but for the timing."""

    layout: dict[str, object]
    data: dict[str, object]
    evaluation: Evaluation | None
    parameters: str
    timing: dict[str, object]
    exported: dict[str, object] | None = None
