"""The learning rate of a step, computed from the step alone: there is no scheduler whose state could be lost."""

import math

SCHEDULES = ("constant", "cosine", "linear")


def scheduled_rate(
    step: int, *, peak: float, warmup_steps: int, steps: int, schedule: str = "constant", floor: float = 0.0
) -> float:
    """The rate of a step: a linear rise over the warm-up steps, then as the schedule says.

    `cosine` and `linear` fall from `peak` after the warm-up to `floor` times it at the last step.
    """
    if step < warmup_steps:
        return peak * step / warmup_steps
    if schedule == "constant" or steps <= warmup_steps:
        return peak
    done = (step - warmup_steps) / (steps - warmup_steps)
    left = (1.0 + math.cos(math.pi * done)) / 2.0 if schedule == "cosine" else 1.0 - done
    return peak * (floor + (1.0 - floor) * left)
