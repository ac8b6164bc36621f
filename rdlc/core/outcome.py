"""What a training computed: the bits of each step, and the fingerprints of its parameters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rdlc.core.fields import Fields
from rdlc.core.lines import decimal_text, fingerprint, hex_float, seconds
from rdlc.core.text import one_line

# The bits of a step, by the words in which people read them.
STEP_BITS = {
    "batch": "batch_digest",
    "loss": "loss",
    "gradient norm": "gradient_norm",
    "parameters": "parameters",
}
_TENSOR_NAME = re.compile("[!-~]{1,256}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One optimizer step, as rank 0 wrote it.

    `loss` and `gradient_norm` are global values as hex floats, `tokens` counts all ranks;
    `parameters` is the fingerprint after the update, None where none was taken. `step_s` is
    measured and never compared.
    """

    step: int
    attempt: int
    loss: str
    gradient_norm: str
    learning_rate: str
    tokens: int
    batch_digest: str
    parameters: str | None
    step_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """All that a training computed; None means not measured.

    `steps` rise; of a step that several attempts did, it holds the last. `tensors` maps a step (0:
    before the first update) to the fingerprint of each parameter by its name.
    """

    steps: tuple[Step, ...]
    tensors: Mapping[int, Mapping[str, str]] = field(repr=False)
    evaluation_loss: str | None
    initial_parameters: str | None
    final_parameters: str | None
    finished: bool

    @property
    def last_step(self) -> int:
        """The number of the last step, 0 when none was done."""
        return self.steps[-1].step if self.steps else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something in an outcome that does not fit together: nobody may build on it."""

    step: int
    field: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOutcome:
    """An outcome as it came from files, with what does not fit together in it."""

    outcome: Outcome
    problems: tuple[Problem, ...]


def read_step(fields: Fields) -> Step:
    """One step from a line of a record or a baseline; keys that are not known are left alone."""
    return Step(
        step=fields.count("step", least=1),
        attempt=fields.count("attempt", least=1),
        loss=hex_float(fields, "loss"),
        gradient_norm=hex_float(fields, "gradient_norm"),
        learning_rate=decimal_text(fields, "learning_rate"),
        tokens=fields.count("tokens"),
        batch_digest=fields.digest("batch_digest"),
        parameters=fingerprint(fields, "parameters") if fields.has("parameters") else None,
        step_s=seconds(fields, "step_s"),
    )


def check_tensor_name(fields: Fields, key: str, name: str) -> None:
    """Refuses a parameter's name with blanks or other than ASCII characters in it."""
    if not _TENSOR_NAME.fullmatch(name):
        raise fields.error(key, f'a name must be 1 to 256 ASCII characters without blanks, not "{one_line(name)}"')
