"""What a run's own result says for people: did it learn, and how fast was it?"""

import math

from rdlc.core.fields import Fields
from rdlc.core.lines import hex_float, read_json_file, seconds
from rdlc.core.outcome_files import RESULT_LIMIT_BYTES
from rdlc.core.text import one_line
from rdlc.errors import InputError


def describe_result(result: bytes, *, name: str) -> tuple[str, ...]:
    """The sentences that `result.json` gives; what it does not hold is left out, nothing is guessed."""
    try:
        fields = read_json_file(result, name=name, limit_bytes=RESULT_LIMIT_BYTES)
        learned = _describe_learning(fields.below("evaluation")) if fields.has("evaluation") else ""
        speed = _describe_speed(fields.below("timing")) if fields.has("timing") else ""
        export = _describe_export(fields.below("exported")) if fields.has("exported") else ""
    except InputError as error:
        return (f"the result cannot be shown: {error.field}: {error.message}",)
    return tuple(filter(None, (learned, speed, export)))


def _describe_learning(evaluation: Fields) -> str:
    before, after = (float.fromhex(hex_float(evaluation, key)) for key in ("loss_before", "loss"))
    words = f"held-out loss {before:.3f} -> {after:.3f} nats per token"
    if evaluation.has("source_loss"):
        return f"{words}; no model can get below {float.fromhex(hex_float(evaluation, 'source_loss')):.3f}"
    words += f", perplexity {_perplexity(before)} -> {_perplexity(after)}"
    if evaluation.has("best_step"):
        best = float.fromhex(hex_float(evaluation, "best_loss"))
        words += f"; best {_perplexity(best)} after step {evaluation.count('best_step')}"
    return words


def _perplexity(loss: float) -> str:
    """The perplexity of a mean loss in nats: between how many tokens it is as good as guessing."""
    # Beyond this, no float holds it, and no vocabulary is so large.
    return f"{math.exp(loss):,.2f}" if loss < 30.0 else f"e^{loss:.0f}"


def _describe_export(exported: Fields) -> str:
    folder, step = exported.text("folder"), exported.count("step")
    return f"the weights after step {step} are in `{one_line(folder)}`, as Hugging Face loads them"


def _describe_speed(timing: Fields) -> str:
    counted, warmup = timing.count("counted_steps"), timing.count("warmup_steps")
    if counted == 0:
        return f"step time not measured: no step after the {warmup} warm-up steps"
    step_ms = seconds(timing, "median_step_s") * 1000
    rate = seconds(timing, "tokens_per_s")
    return (
        f"step time {step_ms:,.0f} ms, {rate:,.0f} tokens/s "
        f"(median of {counted} steps, {warmup} warm-up steps left out)"
    )
