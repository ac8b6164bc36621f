"""A plan from nothing: Terraform in a copy of the root, without an account and without AWS."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rdlc.adapters.terraform.program import BIN_VARIABLE, find_program
from rdlc.core.infra.events import errors_of, read_event
from rdlc.core.infra.fingerprint import SHOW_LIMIT_BYTES
from rdlc.core.infra.offline import MissingPlan, OfflinePlan
from rdlc.core.text import one_line
from rdlc.errors import RdlcError

TIMEOUT_S = 600
# A second is enough for Terraform to stop its providers; it has nothing to save here.
_GRACE_S = 5
_OVERRIDE = "zz_rdlc_offline_override.tf.json"
_VARIABLES = "rdlc.tfvars.json"
_SETTINGS = "rdlc.tfrc"
_PLAN = (
    "plan",
    "-json",
    "-input=false",
    "-lock=false",
    "-refresh=false",
    f"-var-file={_VARIABLES}",
    "-out=plan",
)
# Nothing else reaches Terraform: no credentials, no `TF_VAR_*`, no `TF_CLI_ARGS*`.
_PASSED = (
    "HOME",
    "PATH",
    "TMPDIR",
    "TF_CLI_CONFIG_FILE",
    "TF_PLUGIN_CACHE_DIR",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
_SET = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "CHECKPOINT_DISABLE": "1",
    "TF_IN_AUTOMATION": "1",
    "TF_INPUT": "0",
    # A third of the time of a plan would go into collecting garbage that the end of the process collects too.
    "GOGC": "400",
}
_OFFLINE_AWS = {
    "access_key": "offline",
    "secret_key": "offline",
    "skip_credentials_validation": True,
    "skip_requesting_account_id": True,
    "skip_metadata_api_check": "true",
    "allowed_account_ids": None,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Done:
    returncode: int
    stdout: bytes
    stderr: bytes


class OfflineTerraform:
    """Plans roots from nothing; `program` is Terraform's path, None if there is none on this machine."""

    def __init__(self, program: Path | None, *, environment: Mapping[str, str] | None = None) -> None:
        self._program = program
        values = os.environ if environment is None else environment
        self._environment = {name: values[name] for name in _PASSED if name in values} | _SET

    def plan(
        self, files: Mapping[str, bytes], variables: bytes, *, configured: tuple[str, ...]
    ) -> OfflinePlan | MissingPlan:
        """The plan that makes everything, or why there is none here.

        `configured` are the providers that the root has a block for. Raises RdlcError if Terraform
        refuses the variables.
        """
        if self._program is None:
            return MissingPlan(reason="Terraform is not on this machine")
        with tempfile.TemporaryDirectory(prefix="rdlc-plan-") as name:
            folder = Path(name)
            _write(folder, files, variables, configured)
            started = self._run(folder, "init", "-json", "-input=false", "-backend=false", "-lockfile=readonly")
            if started.returncode:
                return MissingPlan(reason=f"`terraform init` failed: {_explain(started)}")
            checked = _use_checked_providers(folder)
            planned = self._run(folder, *_PLAN, more=checked)
            if planned.returncode:
                raise RdlcError(f"Terraform refuses these variables: {_explain(planned)}", field="infra.variables")
            shown = self._run(folder, "show", "-json", "plan", more=checked)
            if shown.returncode or len(shown.stdout) > SHOW_LIMIT_BYTES:
                return MissingPlan(reason=f"`terraform show` failed: {_explain(shown)}")
            return OfflinePlan(shown=shown.stdout)

    def _run(self, folder: Path, *arguments: str, more: Mapping[str, str] = MappingProxyType({})) -> _Done:
        try:
            return _run_to_end((str(self._program), *arguments), folder, {**self._environment, **more})
        except FileNotFoundError as error:
            raise RdlcError(f"`{self._program}` is no program that can be started") from error
        except OSError as error:
            raise RdlcError(f"`{self._program}` cannot be started: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise RdlcError(f"`terraform {arguments[0]}` did not end within {TIMEOUT_S} s") from error


def find_offline_terraform(given: Path | None = None) -> OfflineTerraform:
    """Terraform of this machine, or one that says that there is none; raises RdlcError if one is named and missing."""
    if given is None and not os.environ.get(BIN_VARIABLE) and shutil.which("terraform") is None:
        return OfflineTerraform(None)
    return OfflineTerraform(find_program(given, os.environ))


def _use_checked_providers(folder: Path) -> dict[str, str]:
    """The variable that names the providers which `init` has just checked as those to start.

    Plan and show would each read them whole once more for their hashes: 0.6 s for the 700 MB of AWS's.
    """
    found = sorted((folder / ".terraform" / "providers").glob("*/*/*/*/*"))
    if not found:
        return {}
    names = ["/".join(path.relative_to(folder).parts[2:5]) for path in found]
    lines = [f"{json.dumps(name)} = {json.dumps(str(path))}\n" for name, path in zip(names, found, strict=True)]
    settings = folder / _SETTINGS
    settings.write_text(f"provider_installation {{\ndev_overrides {{\n{''.join(lines)}}}\n}}\n")
    return {"TF_CLI_CONFIG_FILE": str(settings)}


def _run_to_end(argv: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> _Done:
    # A session of its own: Ctrl-C reaches it through us alone, and its providers end with it.
    with subprocess.Popen(
        argv,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=TIMEOUT_S)
        except BaseException:
            _end(process)
            raise
    return _Done(returncode=process.returncode, stdout=stdout, stderr=stderr)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _write(folder: Path, files: Mapping[str, bytes], variables: bytes, configured: tuple[str, ...]) -> None:
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    (folder / _VARIABLES).write_bytes(variables)
    if "aws" in configured:
        (folder / _OVERRIDE).write_text(json.dumps({"provider": {"aws": _OFFLINE_AWS}}))


def _explain(done: _Done) -> str:
    """The errors that Terraform gave, on one line; the end of what it said if it gave none as such."""
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    events = (read_event(line) for line in lines)
    found = [event.diagnostic for event in events if event.diagnostic is not None]
    errors = [one_line(": ".join((item.summary, *_paragraphs(item.detail))), limit=400) for item in errors_of(found)]
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "; ".join(dict.fromkeys(errors)) or (
        one_line(said[-1], limit=400) if said else f"exit code {done.returncode}"
    )


def _paragraphs(text: str) -> list[str]:
    """What the text says in one piece or more, the pieces with `; ` between; nothing for none."""
    pieces = [" ".join(piece.split()) for piece in text.split("\n\n")]
    joined = "; ".join(piece for piece in pieces if piece)
    return [joined] if joined else []
