"""The levels of reproducibility, and which one evidence reaches."""

LEVELS = ("recorded", "infrastructure", "execution", "outcome-statistical", "outcome-bitwise")
# What a lock can claim; the noise band of `outcome-statistical` is not judged yet.
CLAIMS = ("infrastructure", "execution", "outcome-bitwise")


def reaches(reached: str, claimed: str) -> bool:
    """Whether a reached level is at least the claimed one."""
    return LEVELS.index(reached) >= LEVELS.index(claimed)
