"""Whether two trainings computed the same bits, and where they first part."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdlc.core.flatten import natural_order
from rdlc.core.outcome import STEP_BITS, Outcome, Step

INITIAL_PARAMETERS = "initial parameters"
FINAL_PARAMETERS = "final parameters"
EVALUATION_LOSS = "evaluation loss"
TENSORS = "tensors"

# The order in which values depend on each other: the first name is the nearest to the cause.
FIELD_ORDER = (
    "batch",
    INITIAL_PARAMETERS,
    "loss",
    "gradient norm",
    "parameters",
    EVALUATION_LOSS,
    FINAL_PARAMETERS,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldDifference:
    """One value of a step that is not the same: both texts, as they were recorded."""

    name: str
    expected: str
    found: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """The first step at which the bits differ.

    `differences` come in `FIELD_ORDER`; the initial parameters (those of step 0) belong to step 1,
    which starts from them, and the evaluation to the last step. `tensors` are the parameters that
    differ at `tensor_step`, the first step at which any does, in the order of their names.
    """

    step: int
    differences: tuple[FieldDifference, ...]
    tensor_step: int | None
    tensors: tuple[str, ...]
    tensors_total: int

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of what differs at the step."""
        return tuple(difference.name for difference in self.differences)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What two outcomes have in common.

    `equal` is bitwise: nothing differs, both finished with the same steps, at least one, what one
    measured the other measured too, and the final parameters are among it. `evidence` counts, by name, the pairs of
    values that were compared; `not_compared` says in words what could not be, and `one_sided` is
    the part of it that one side has and the other lacks.
    """

    equal: bool
    steps_compared: int
    steps_expected: int
    steps_found: int
    divergence: Divergence | None
    evidence: Mapping[str, int]
    not_compared: tuple[str, ...]
    one_sided: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether anything is not the same; outcomes can be neither equal nor different."""
        return bool(self.divergence or self.ending or self.one_sided)

    @property
    def ending(self) -> str | None:
        """`ended after step 7 of 20` when one side has fewer steps than the other."""
        short, full = sorted((self.steps_expected, self.steps_found))
        return None if short == full else f"ended after step {short} of {full}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """One value of both sides; None where it was not measured."""

    step: int
    name: str
    expected: str | None
    found: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tensors:
    """The parameters that differ at a step, with both values of the first one."""

    step: int
    names: tuple[str, ...]
    total: int
    expected: str
    found: str


def compare_outcomes(
    expected: Outcome, found: Outcome, *, labels: tuple[str, str] = ("expected", "found")
) -> Comparison:
    """Compares every measured value; `labels` name the two sides in `not_compared`."""
    pairs = tuple(_pairs(expected, found))
    divergence = _find_divergence(pairs, _find_tensors(expected, found))
    one_sided = (
        *_find_step_gaps(expected, found, labels),
        *_find_gaps(pairs, labels),
        *_find_tensor_gaps(expected, found, labels),
        *_find_unfinished(expected, found, labels),
    )
    evidence = dict.fromkeys(FIELD_ORDER, 0)
    for pair in pairs:
        evidence[pair.name] += None not in (pair.expected, pair.found)
    evidence[TENSORS] = _count_tensors(expected, found)
    same_end = expected.last_step == found.last_step and expected.finished and found.finished
    is_complete = evidence[FINAL_PARAMETERS] == 1 and evidence["loss"] > 0
    return Comparison(
        equal=divergence is None and not one_sided and same_end and is_complete,
        steps_compared=evidence["loss"],
        steps_expected=expected.last_step,
        steps_found=found.last_step,
        divergence=divergence,
        evidence=evidence,
        not_compared=(*one_sided, *_find_unmeasured(expected, found)),
        one_sided=one_sided,
    )


def _pairs(expected: Outcome, found: Outcome) -> Iterator[_Pair]:
    others = {step.step: step for step in found.steps}
    common = [(step, others[step.step]) for step in expected.steps if step.step in others]
    initial = (expected.initial_parameters, found.initial_parameters)
    yield _pair(1 if common else 0, INITIAL_PARAMETERS, *initial)
    for step, other in common:
        yield from _step_pairs(step, other)
    last = common[-1][0].step if common else 0
    yield _pair(last, EVALUATION_LOSS, expected.evaluation_loss, found.evaluation_loss)
    yield _pair(last, FINAL_PARAMETERS, expected.final_parameters, found.final_parameters)


def _step_pairs(step: Step, other: Step) -> Iterator[_Pair]:
    for name, attribute in STEP_BITS.items():
        yield _pair(step.step, name, getattr(step, attribute), getattr(other, attribute))


def _pair(step: int, name: str, expected: str | None, found: str | None) -> _Pair:
    return _Pair(step=step, name=name, expected=expected, found=found)


def _find_tensors(expected: Outcome, found: Outcome) -> _Tensors | None:
    """The first step at which single parameters differ, of those where both took fingerprints."""
    for step in sorted(expected.tensors.keys() & found.tensors.keys()):
        one, other = expected.tensors[step], found.tensors[step]
        if one != other:
            names = sorted(one.keys() | other.keys(), key=natural_order)
            differing = tuple(name for name in names if one.get(name) != other.get(name))
            first = differing[0]
            return _Tensors(
                step=step,
                names=differing,
                total=len(names),
                expected=f"`{first}` {one.get(first, 'is not there')}",
                found=f"`{first}` {other.get(first, 'is not there')}",
            )
    return None


def _count_tensors(expected: Outcome, found: Outcome) -> int:
    steps = expected.tensors.keys() & found.tensors.keys()
    return sum(len(expected.tensors[step].keys() & found.tensors[step].keys()) for step in steps)


def _find_divergence(pairs: tuple[_Pair, ...], tensors: _Tensors | None) -> Divergence | None:
    changed = [pair for pair in pairs if pair.expected and pair.found and pair.expected != pair.found]
    # The pair of the initial parameters knows at which step they count.
    start = pairs[0].step
    tensor_steps = [tensors.step or start] if tensors else []
    steps = [*(pair.step for pair in changed), *tensor_steps]
    if not steps:
        return None
    first = min(steps)
    values = {pair.name: (pair.expected or "", pair.found or "") for pair in changed if pair.step == first}
    if tensors and tensor_steps == [first]:
        name = "parameters" if tensors.step else INITIAL_PARAMETERS
        values.setdefault(name, (tensors.expected, tensors.found))
    return Divergence(
        step=first,
        differences=tuple(
            FieldDifference(name=name, expected=values[name][0], found=values[name][1])
            for name in FIELD_ORDER
            if name in values
        ),
        tensor_step=tensors.step if tensors else None,
        tensors=tensors.names if tensors else (),
        tensors_total=tensors.total if tensors else 0,
    )


def _find_gaps(pairs: tuple[_Pair, ...], labels: tuple[str, str]) -> Iterator[str]:
    for name in FIELD_ORDER:
        own = [pair for pair in pairs if pair.name == name]
        lacking = (
            [pair.step for pair in own if pair.expected is None and pair.found],
            [pair.step for pair in own if pair.found is None and pair.expected],
        )
        for steps, label in zip(lacking, labels, strict=True):
            if steps:
                where = f" at {_some_steps(steps)}" if name in STEP_BITS else ""
                yield f"{name}{where}: not measured in {label}"


def _find_step_gaps(expected: Outcome, found: Outcome, labels: tuple[str, str]) -> Iterator[str]:
    shorter = min(expected.last_step, found.last_step)
    numbers = [{step.step for step in side.steps} for side in (expected, found)]
    for lacking, having, label in zip(numbers, reversed(numbers), labels, strict=True):
        if steps := sorted(step for step in having - lacking if step <= shorter):
            yield f"{_some_steps(steps)}: not recorded in {label}"


def _find_tensor_gaps(expected: Outcome, found: Outcome, labels: tuple[str, str]) -> Iterator[str]:
    shorter = min(expected.last_step, found.last_step)
    sides = (expected.tensors.keys(), found.tensors.keys())
    for lacking, having, label in zip(sides, reversed(sides), labels, strict=True):
        if steps := sorted(step for step in having - lacking if step <= shorter):
            yield f"single parameters at {_some_steps(steps)}: not measured in {label}"


def _find_unfinished(expected: Outcome, found: Outcome, labels: tuple[str, str]) -> Iterator[str]:
    if expected.finished != found.finished:
        label = labels[0] if found.finished else labels[1]
        yield f"the end: {label} did not finish"


def _find_unmeasured(expected: Outcome, found: Outcome) -> Iterator[str]:
    """What neither side measured."""
    if not expected.finished and not found.finished:
        yield "the end: neither side finished"
    if expected.final_parameters is None and found.final_parameters is None:
        yield f"{FINAL_PARAMETERS}: not measured on either side"
    others = {step.step for step in found.steps if step.parameters is None}
    steps = [s.step for s in expected.steps if s.parameters is None and s.step in others]
    if steps:
        yield f"parameters at {_some_steps(steps)}: not measured on either side"


def _some_steps(steps: list[int]) -> str:
    if len(steps) == 1:
        return f"step {steps[0]}"
    return f"{len(steps)} steps, first at step {steps[0]}"
