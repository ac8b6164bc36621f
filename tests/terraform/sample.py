"""The sample's cluster as a project: a lock of the committed root, and rdlc as a program, in some account."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rdlc.core.canonical import Json
from tests.cli.docker_project import REPOSITORY as IMAGE
from tests.cli.docker_project import TAG, docker_project
from tests.conftest import Said
from tests.projects import SPEC
from tests.terraform.moto.offered import ADDON_VERSIONS, RELEASES
from tests.terraform.moto.world import ACCOUNT, REGION, REPOSITORY
from tests.terraform.program import command_line_configuration, terraform_program

LOCK = "lock/toy.lock.yaml"
KEY = f"seed/{ACCOUNT}/{REGION}"
PATIENCE_S = 600.0  # for a machine with much else to do
# What starts this may have set that the signal is not heard.
_WITH_SIGINT = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("rdlc", run_name="__main__", alter_sys=True)
"""
# What a person adds to the profile. The release of the GPU nodes floats: `rdlc lock` asks for it.
VARIABLES: Mapping[str, Json] = {
    "region": REGION,
    "system_release_version": RELEASES[1],
    "addon_versions": {name: versions[0] for name, versions in ADDON_VERSIONS.items()},
}
BINDINGS: Mapping[str, Json] = {
    "name": "seed",
    "account_id": ACCOUNT,
    "tags": {"team": "training"},
    "availability_zones": [f"{REGION}a", f"{REGION}b"],
    "gpu_availability_zones": [f"{REGION}b"],
    "endpoint_public_cidrs": ["203.0.113.0/24"],
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A project folder, the account that it is applied in, and a home that has nothing but Terraform's settings."""

    folder: Path
    endpoint: str

    def __call__(self, *arguments: str, more: Mapping[str, str] | None = None) -> Said:
        """What one command line of rdlc gave; `more` is added to its environment."""
        done = subprocess.run(
            _command(arguments), cwd=self.folder, env=self.environment(more or {}),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        return Said(code=done.returncode, out=done.stdout, err=done.stderr)

    def interrupt(self, *arguments: str, when: Callable[[], bool]) -> Said:
        """What it gave when a terminal's Ctrl-C came at that moment."""
        with subprocess.Popen(
            (sys.executable, "-c", _WITH_SIGINT, *arguments), cwd=self.folder, env=self.environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            _wait(process, when)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
        return Said(code=process.returncode, out=out, err=err)

    def ask(self, *arguments: str, question: str, meanwhile: Callable[[], None]) -> Said:
        """What it gave with somebody at a terminal who says yes, but only after something else has happened."""
        ours, theirs = pty.openpty()
        said = self.folder.parent / "asked.txt"
        with said.open("wb") as err, subprocess.Popen(
            _command(arguments), cwd=self.folder, env=self.environment(),
            stdin=theirs, stdout=subprocess.PIPE, stderr=err,
        ) as process:  # fmt: skip
            os.close(theirs)
            _wait(process, lambda: question in said.read_text(encoding="utf-8"))
            meanwhile()
            os.write(ours, b"y\n")
            out, _ = process.communicate(timeout=PATIENCE_S)
            os.close(ours)
        return Said(code=process.returncode, out=out.decode(), err=said.read_text(encoding="utf-8"))

    def terraform(self, *arguments: str) -> None:
        """Terraform by hand in the stack's work copy, past rdlc; it must succeed."""
        work = self.stack / "work"
        done = subprocess.run(
            (str(terraform_program()), *arguments), cwd=work, env=self.environment({"AWS_REGION": REGION}),
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def stack(self) -> Path:
        """The folder of the stack."""
        return self.folder / "stacks" / KEY

    def record(self) -> dict[str, Any]:
        """The stack's record."""
        return dict(json.loads((self.stack / "stack.json").read_bytes()))

    def resources(self) -> dict[str, dict[str, Any]]:
        """Every address in the state, with its attributes."""
        state = json.loads((self.stack / "terraform.tfstate").read_bytes())
        found = {}
        for held in state["resources"]:
            for instance in held["instances"]:
                index = f"[{json.dumps(instance['index_key'])}]" if "index_key" in instance else ""
                found[f"{held['module']}.{held['type']}.{held['name']}{index}"] = dict(instance["attributes"])
        return found

    def logs(self, step: str) -> int:
        """How often Terraform has done that step here."""
        return len(list((self.stack / "log").glob(f"*-{step}.jsonl")))

    def events(self, step: str) -> list[dict[str, Any]]:
        """What Terraform said in the last such step, as far as it has come."""
        logs = sorted((self.stack / "log").glob(f"*-{step}.jsonl"))
        lines = logs[-1].read_text(encoding="utf-8").splitlines(keepends=True) if logs else []
        found = []
        for line in lines:
            with suppress(ValueError):  # the last one may be half written
                found.append(json.loads(line))
        return found

    def environment(self, more: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """The whole environment of a command; `more` is added to it."""
        home = self.folder.parent
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(REPOSITORY),
            "TF_CLI_CONFIG_FILE": str(home / "terraformrc"),
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_EC2_METADATA_DISABLED": "true",
            **more,
        }


def lock_sample(home: Path, *, endpoint: str, provider_lock: Callable[[str], str] = str) -> Sample:
    """The project with its lock, made with the account at hand: there is nothing in the account yet.

    `provider_lock` gives another text in the place of the committed file of locked providers.
    """
    command_line_configuration(home)
    sample = Sample(folder=home / "project", endpoint=endpoint)
    with docker_project(sample.folder, sample) as project:
        shutil.copytree(
            REPOSITORY / "terraform", sample.folder / "terraform", ignore=shutil.ignore_patterns(".terraform", "tests")
        )
        pinned = sample.folder / "terraform/.terraform.lock.hcl"
        pinned.write_text(provider_lock(pinned.read_text(encoding="utf-8")), encoding="utf-8")
        infra = {"root": "terraform", "profile": "g6-12xlarge-x2", "variables": dict(VARIABLES)}
        image = {"reference": f"{project.address}/{IMAGE}:{TAG}"}
        target = f"target: eks\nimage: {json.dumps(image)}\ninfra: {json.dumps(infra)}"
        (sample.folder / "run.yaml").write_text(SPEC.replace("target: local", target), encoding="utf-8")
        (sample.folder / "bind.yaml").write_text(json.dumps(BINDINGS), encoding="ascii")
        locked = sample("lock", "run.yaml")
        assert locked.code == 0, locked.err
    return sample


def copy_sample(sample: Sample, home: Path, *, endpoint: str) -> Sample:
    """The same lock and files in another place, for another account: nothing of a stack comes along."""
    shutil.copytree(sample.folder, home / "project", ignore=shutil.ignore_patterns("stacks", "runs"))
    command_line_configuration(home)
    return Sample(folder=home / "project", endpoint=endpoint)


def _command(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return (sys.executable, "-m", "rdlc", *arguments)


def _wait(process: subprocess.Popen[Any], is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.05)
