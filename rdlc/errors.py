"""Everything rdlc raises on purpose.

    RdlcError            the answer is no: differs, drifted, refused, not reproduced (exit 1)
    |-- InputError       bad usage or unreadable input, with file and field (exit 2)
    |-- OutsideError     an outside service is down, throttled or lacks credentials (exit 3)
    `-- Interrupted      stopped by the user, or detached (exit 130)

A class exists only where the exit code or a caller treats it differently.
"""


class RdlcError(Exception):
    """The answer is no; says why, and what to do next.

    `hint` is the next command. `file` and `field` name the place of the trouble:
    `field` is an address such as `recipe.overrides.learning_rate`.
    """

    exit_code = 1
    status = "refused"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = file
        self.field = field


class InputError(RdlcError):
    """What was given cannot be used as it is."""

    exit_code = 2
    status = "bad-input"


class OutsideError(RdlcError):
    """Something outside this machine did not answer as it should."""

    exit_code = 3
    status = "outside-unavailable"


class Interrupted(RdlcError):
    """The user stopped it."""

    exit_code = 130
    status = "interrupted"
