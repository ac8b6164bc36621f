"""Real registries (Debian's `docker-registry`) on loopback.

All of them can share one storage folder: what is pushed to the plain one is served by the others.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.registry.needs import need_programs
from tests.registry.processes import answers, free_port, running


@contextlib.contextmanager
def plain_registry(folder: Path) -> Iterator[str]:
    """`127.0.0.1:PORT` of a registry over plain HTTP that keeps its files below `folder`."""
    with registry(folder) as address:
        yield address


@contextlib.contextmanager
def registry(
    folder: Path,
    *,
    http: Mapping[str, object] | None = None,
    auth: Mapping[str, object] | None = None,
    redirect_to: str | None = None,
) -> Iterator[str]:
    """`127.0.0.1:PORT` of a registry with TLS (`http`), authentication, or blobs elsewhere."""
    need_programs("docker-registry")
    port = free_port()
    settings: dict[str, object] = {
        "version": "0.1",
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(folder / "storage")},
            "delete": {"enabled": True},
        },
        "http": {"addr": f"127.0.0.1:{port}", "secret": "only-for-tests", **(http or {})},
    }
    if auth:
        settings["auth"] = dict(auth)
    if redirect_to:
        options = {"baseurl": redirect_to}
        settings["middleware"] = {"storage": [{"name": "redirect", "options": options}]}
    path = folder / f"registry-{port}.json"  # JSON is YAML too
    path.write_text(json.dumps(settings), encoding="utf-8")
    command = ("docker-registry", "serve", str(path))
    log = folder / f"registry-{port}.log"
    with running(command, log=log, is_ready=lambda: answers(port)):
        yield f"127.0.0.1:{port}"
