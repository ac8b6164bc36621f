"""Extra packages for the workers: Ray installs them on each node before training, by hash and without resolving.

Ray gives such workers a copy of the virtual environment that it runs in, with the packages added.
That copy is everything: 1.7 GB and 38 s for the environment of the tests. So Ray is started in a
virtual environment that holds nothing but a reference to the real one, and is copied in no time
(0.1 MB, 4 s in all); what is added to the copy comes first on the path.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fsdp_qwen.config import Packages
from fsdp_qwen.distributions import normalise_name, read_distributions
from fsdp_qwen.failures import Failure
from fsdp_qwen.package_failures import describe_failure
from fsdp_qwen.records import Output, write_document

# Ray runs pip in a folder of the environment that it makes, and keeps both together.
_REPORT = Path("exec_cwd", "report.json")
# Beyond Ray's own limit for the set-up: to start the process that looks at it.
_LOOK_LIMIT_S = 60
# What may say where packages come from, and how they are reached; anything else of pip's stays out.
_PIP_VARIABLES = (
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_INDEX_URL",
    "PIP_PROXY",
    "PIP_TRUSTED_HOST",
)


@contextmanager
def light_environment(scratch: Path) -> Iterator[None]:
    """Lets Ray run in an environment that is copied quickly, and keeps this machine's settings away from pip."""
    for name in list(os.environ):
        if name.startswith("PIP_") and name not in _PIP_VARIABLES:
            del os.environ[name]
    # One try: what fails does so at once, with a reason, and would fail again.
    os.environ.update({"PIP_CONFIG_FILE": os.devnull, "RUNTIME_ENV_RETRY_TIMES": "1"})
    kept = sys.executable
    sys.executable = str(_make_environment(scratch / "base"))
    try:
        yield
    finally:
        sys.executable = kept


def _make_environment(folder: Path) -> Path:
    """An environment with everything of this one and nothing of its own; gives back its interpreter."""
    import site
    import venv

    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.insert(0, site.getusersitepackages())
    # Not just the folder's name: `.pth` files in it count, too.
    lines = [f"import site; site.addsitedir({name!r})\n" for name in folders]
    (own,) = folder.glob("lib/python*/site-packages")
    (own / "base.pth").write_text("".join(lines), "utf-8")
    return folder / "bin" / "python"


def runtime_environment(packages: Packages | None) -> dict[str, object]:
    """The part of Ray's runtime environment that installs; the same one is made once on each node."""
    if packages is None:
        return {}
    return {
        "pip": {"packages": list(packages.lines), "pip_install_options": _pip_options(packages)},
        "config": {"setup_timeout_seconds": packages.setup_timeout_s},
    }


def _pip_options(packages: Packages) -> list[str]:
    options = [
        *("--require-hashes", "--no-deps", "--only-binary", ":all:"),
        *("--disable-pip-version-check", "--no-input", "--retries", "2", "--report", _REPORT.name),
    ]
    if packages.sdists:
        # Built with what is here: a build environment would be filled with packages that nobody locked.
        options += ["--no-binary", ",".join(packages.sdists), "--no-build-isolation"]
    if packages.wheels is not None:
        options += ["--no-index", "--find-links", str(packages.wheels)]
    return options


def install(packages: Packages, output: Output, *, variables: Mapping[str, str]) -> Failure | None:
    """Installs on every node of the running Ray and writes down what that took; gives back why it could not be."""
    import ray
    from ray.exceptions import RayError

    output.add_phase("installing-packages", 1)
    begun = time.monotonic()
    waiting = _ask_nodes(packages, variables)
    while waiting:
        # With a timeout, so that signals get their turn.
        ready, _ = ray.wait(list(waiting), timeout=0.2)
        elapsed_s = time.monotonic() - begun
        for answer in ready:
            try:
                found = ray.get(answer)
            except RayError as error:
                return _refused(describe_failure(str(error), packages))
            write_document(output.node_packages(waiting.pop(answer)), {**found, "seconds": round(elapsed_s, 3)})
            if difference := _difference(packages, found["distributions"]):
                return _refused(difference)
        if waiting and elapsed_s > packages.setup_timeout_s + _LOOK_LIMIT_S:
            return _refused(f"packages: no answer within {elapsed_s:.0f} s from node {min(waiting.values())}")
    return None


def _ask_nodes(packages: Packages, variables: Mapping[str, str]) -> dict[Any, int]:
    """An answer in the making from each node, and the node's number."""
    import ray

    environment = {**runtime_environment(packages), "env_vars": dict(variables)}
    look: Any = ray.remote(num_cpus=0, max_retries=0, runtime_env=environment)(describe_node)
    nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
    asked = (look.options(label_selector={"ray.io/node-id": node}) for node in nodes)
    return {task.remote(number): number for number, task in enumerate(asked)}


def describe_node(node: int) -> dict[str, object]:
    """What the set-up left on this node, seen from a process in it."""
    folder = Path(sys.prefix).parent
    return {
        "format": 1,
        "node": node,
        "host": socket.gethostname(),
        "bytes": _disk_bytes(folder),
        "installed": read_own_report(),
        "distributions": read_distributions(),
    }


def read_own_report() -> dict[str, dict[str, object]] | None:
    """What was installed into the environment of this process."""
    return read_report(Path(sys.prefix).parent / _REPORT)


def read_report(path: Path) -> dict[str, dict[str, object]] | None:
    """Package name to version, file, digest and whether it is yanked, as pip says; None if it left no report."""
    if not path.exists():
        return None
    report = json.loads(path.read_text("utf-8"))
    return {
        normalise_name(item["metadata"]["name"]): {
            "version": item["metadata"]["version"],
            "file": unquote(item["download_info"]["url"].rpartition("/")[2]),
            "sha256": f"sha256:{item['download_info']['archive_info']['hashes']['sha256']}",
            "is_yanked": item["is_yanked"],
        }
        for item in report["install"]
    }


def _disk_bytes(folder: Path) -> int:
    """What the files of a folder take on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def _difference(packages: Packages, distributions: Mapping[str, str]) -> str:
    """What an installed environment lacks, or has in another version; "" if nothing."""
    from packaging.version import Version

    for name, version in packages.versions.items():
        # Two spellings of one version are no difference: `2026.01` and `2026.1`.
        if name not in distributions or Version(distributions[name]) != Version(version):
            return f"packages: `{name}` {version} was installed, and the workers have {distributions.get(name, 'none')}"
    return ""


def _refused(message: str) -> Failure:
    return Failure(rank=None, kind="refused", message=message, field="packages")
