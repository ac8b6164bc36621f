"""The probe's entry point: `python -m fsdp_qwen.probe --config CONFIG.json --output DIR`.

Starts the same workers as the training does, once for each transport, and measures collectives
between them. It leaves `probe.jsonl`: a line per transport, and a line per kind and size. Exit
codes are those of `fsdp_qwen.train`.
"""

import argparse
import shutil
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fsdp_qwen import nccl_log
from fsdp_qwen.config import Config, read_config
from fsdp_qwen.failures import ConfigError, Failure, Interrupted, failure_of
from fsdp_qwen.probe_launch import launch
from fsdp_qwen.records import Output
from fsdp_qwen.result import write_result
from fsdp_qwen.train import interruptible, set_environment

LINES = "probe.jsonl"
LAUNCHERS = ("ray", "processes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Probes; gives back the exit code."""
    options = _parse(arguments)
    try:
        config = replace(read_config(options.config), max_failures=0)
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
    """Measures every arm; stops at the first that fails."""
    try:
        set_environment(config, output)
        failure = launch(config, output, launcher)
    except ConfigError as error:
        return _fail(str(error), 2)
    except Exception as error:  # noqa: BLE001 - the one place that turns the unforeseen into a message
        failure = failure_of(error, None)
        output.write_failure(failure, 1, traceback.format_exc())
    if failure is not None:
        write_result(config, output, failure)
        return _fail(failure.message, 1)
    # Ray Train's own state, of a training that never was, and the folder for that training's NCCL.
    for folder in ("checkpoints", nccl_log.FOLDER):
        shutil.rmtree(output.path / folder, ignore_errors=True)
    output.add_phase("finished", 1)
    return 0


def _prepare(folder: Path, config: Config, launcher: str) -> Output:
    """The output folder, made or found without a probe in it."""
    if config.num_workers == 1:
        raise ConfigError("num_workers: is 1, and one worker moves nothing: there is nothing to probe")
    if config.packages is not None and launcher != "ray":
        raise ConfigError(f"packages: only `--launcher ray` installs them, not `{launcher}`")
    output = Output(path=folder.resolve())
    try:
        output.parts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--output: `{folder}` can't be made: {error.strerror}") from error
    if (output.path / LINES).exists():
        raise ConfigError(f"--output: `{folder}` already holds a probe's {LINES}")
    return output


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fsdp_qwen.probe", description="Measure collectives on a run's own workers.")
    parser.add_argument("--config", type=Path, required=True, help="JSON file with the run's configuration")
    parser.add_argument("--output", type=Path, required=True, help="folder for the probe's records; made if missing")
    parser.add_argument("--launcher", choices=LAUNCHERS, default="ray", help="who starts the ranks")
    return parser.parse_args(arguments)


def _fail(message: str, exit_code: int) -> int:
    sys.stderr.write(f"error: {message}\n")
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
