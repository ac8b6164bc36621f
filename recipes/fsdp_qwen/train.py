"""The recipe's entry point: `python -m fsdp_qwen.train --config CONFIG.json --output DIR`.

Exit codes: 0 finished, 1 the training failed, 2 the config or the output folder can't be used, 128
+ n stopped by signal n. The one line that says why goes to stderr.
"""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from fsdp_qwen import exact, nccl_log
from fsdp_qwen.checkpoint_index import refuse_used_name
from fsdp_qwen.config import Config, read_config
from fsdp_qwen.digest import code_root
from fsdp_qwen.failures import ConfigError, Failure, Interrupted, failure_of
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.records import Output
from fsdp_qwen.result import write_result

LAUNCHERS = ("ray", "ray-cluster", "processes", "torchrun")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the recipe; gives back the exit code."""
    options = _parse(arguments)
    try:
        config = read_config(options.config)
        output = _prepare(options.output, config, options.launcher)
    except ConfigError as error:
        return _fail(str(error), 2)
    with interruptible():
        try:
            return _run(config, output, options.launcher)
        except Interrupted as stop:
            message = f"stopped by {signal.Signals(stop.signal_number).name}"
            write_result(config, output, Failure(rank=None, kind="error", message=message))
            return _fail(message, stop.exit_code)


def _run(config: Config, output: Output, launcher: str) -> int:
    """Launches the ranks and writes the result, whatever it is."""
    try:
        set_environment(config, output)
        ended = _launch(config, output, launcher)
    except ConfigError as error:
        return _fail(str(error), 2)
    except Exception as error:  # noqa: BLE001 - the one place that turns the unforeseen into a message
        ended = failure_of(error, _own_rank())
        output.write_failure(ended, 1 + output.attempts_failed(), traceback.format_exc())
    if isinstance(ended, Failure):
        write_result(config, output, ended)
        return _fail(_said(ended), 1)
    if _own_rank() in (None, 0):
        write_result(config, output, ended)
        output.add_phase("finished", 1 + output.attempts_failed())
    return 0


def set_environment(config: Config, output: Output) -> None:
    """Sets the config's variables, NCCL's log and where this code is, here and for processes started."""
    if config.determinism.is_exact:
        exact.check_process(
            os.environ,
            config.determinism.environment,
            cpus_per_worker=config.cpus_per_worker,
            allow_unset=True,
        )
    os.environ.update(config.determinism.environment)
    nccl_log.make_folder(output.path, gpus_per_worker=config.gpus_per_worker)
    os.environ.update(nccl_log.environment(output.path, gpus_per_worker=config.gpus_per_worker))
    search = [str(code_root()), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, search)))


def _launch(config: Config, output: Output, launcher: str) -> Outcome | Failure:
    if config.packages is not None and launcher != "ray":
        raise ConfigError(f"packages: only `--launcher ray` installs them, not `{launcher}`")
    # Each launcher brings its own heavy imports, so only the one that is used is imported.
    if launcher == "ray":
        from fsdp_qwen import launch_ray

        return launch_ray.launch(config, output)
    if launcher == "ray-cluster":
        from fsdp_qwen import launch_cluster

        return launch_cluster.launch(config, output)
    if launcher == "processes":
        from fsdp_qwen import launch_processes

        return launch_processes.launch(config, output)
    from fsdp_qwen import launch_torchrun

    return launch_torchrun.launch(config, output)


def _prepare(folder: Path, config: Config, launcher: str) -> Output:
    """The output folder, made or found without a run in it."""
    output = Output(path=folder.resolve())
    try:
        output.parts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--output: `{folder}` can't be made: {error.strerror}") from error
    # A restarted torchrun goes on in the folder of its first attempt.
    if launcher == "torchrun" and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0":
        return output
    if output.metrics.exists():
        raise ConfigError(f"--output: `{folder}` already holds a run's metrics.jsonl")
    # Ray Train would silently go on from a checkpoint under the same name.
    refuse_used_name(config, output)
    return output


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fsdp_qwen.train", description="Train a Qwen2-shaped model with FSDP2.")
    parser.add_argument("--config", type=Path, required=True, help="JSON file with the run's configuration")
    parser.add_argument("--output", type=Path, required=True, help="folder for the run's records; made if missing")
    parser.add_argument("--launcher", choices=LAUNCHERS, default="ray", help="who starts the ranks")
    return parser.parse_args(arguments)


@contextmanager
def interruptible() -> Iterator[None]:
    """Turns the first SIGTERM or SIGINT into `Interrupted`; later ones must not stop cleaning."""
    numbers = (signal.SIGTERM, signal.SIGINT)

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _own_rank() -> int | None:
    """The rank of this process if torchrun started it; the other launchers' driver has none."""
    return int(os.environ["RANK"]) if "RANK" in os.environ else None


def _said(failure: Failure) -> str:
    """The failure for a reader who has only this line."""
    if failure.rank is None or failure.message.startswith("rank "):
        return failure.message
    return f"rank {failure.rank}: {failure.message}"


def _fail(message: str, exit_code: int) -> int:
    sys.stderr.write(f"error: {message}\n")
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
