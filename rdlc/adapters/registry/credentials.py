"""Whose credentials a registry is shown: AWS for private ECR, then what `docker login` left.

A file or program that cannot be used is warned about and passed over: a public image needs none.
"""

import base64
import binascii
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rdlc.adapters.registry.ecr import ecr_login
from rdlc.core.image.names import parse_ecr_registry
from rdlc.core.image.reference import DEFAULT_REGISTRY
from rdlc.core.text import one_line

HELPER_TIMEOUT_S = 60
FILE_LIMIT_BYTES = 1 << 20

_HELPER = re.compile(r"[A-Za-z0-9_.-]+")
_DOCKER_HUB = "https://index.docker.io/v1/"
_NOT_FOUND = "credentials not found"


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential:
    """A user and password, or an identity token; `source` is for messages."""

    source: str
    username: str = ""
    secret: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """The value of an `Authorization` header."""
        pair = f"{self.username}:{self.secret}".encode()
        return "Basic " + base64.b64encode(pair).decode("ascii")


class Credentials:
    """Finds the credentials of each registry once; safe to use from several threads."""

    def __init__(self, *, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._lock = threading.RLock()
        self._found: dict[str, Credential | None] = {}

    def find(self, registry: str) -> Credential | None:
        """The credentials for a registry such as `docker.io`, or None: ask anonymously."""
        with self._lock:
            if registry not in self._found:
                self._found[registry] = self._look_up(registry)
            return self._found[registry]

    def _look_up(self, registry: str) -> Credential | None:
        if ecr := parse_ecr_registry(registry):
            login = ecr_login(ecr, warn=self._warn)
            if login is not None:
                return Credential(source="AWS", username=login[0], secret=login[1])
        for path in _files(os.environ):
            settings = self._read(path)
            found = self._ask_helper(settings, registry) or _stored(settings, registry, str(path))
            if found is not None:
                return found
        return None

    def _read(self, path: Path) -> Mapping[str, object]:
        try:
            with path.open("rb") as file:
                settings = json.loads(file.read(FILE_LIMIT_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            self._warn(f"no credentials read from `{path}`: {one_line(str(error))}")
            return {}
        return settings if isinstance(settings, dict) else {}

    def _ask_helper(self, settings: Mapping[str, object], registry: str) -> Credential | None:
        helpers = settings.get("credHelpers")
        chosen = helpers.get(registry) if isinstance(helpers, dict) else None
        name = chosen or settings.get("credsStore")
        if not isinstance(name, str) or not name:
            return None
        program = f"docker-credential-{name}"
        if not _HELPER.fullmatch(name):
            self._warn(f"the credential helper `{one_line(program)}` has a name that is not allowed")
            return None
        server = _DOCKER_HUB if registry == DEFAULT_REGISTRY else registry
        return self._run(program, server)

    def _run(self, program: str, server: str) -> Credential | None:
        try:
            done = subprocess.run(
                (program, "get"),
                input=server.encode(),
                capture_output=True,
                timeout=HELPER_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = "is not installed" if isinstance(error, FileNotFoundError) else "does not answer"
            self._warn(f"the credential helper `{program}` {reason}: going on without it")
            return None
        if done.returncode:
            said = (done.stdout + done.stderr).decode("utf-8", errors="replace").strip()
            if _NOT_FOUND not in said.lower():
                self._warn(f"the credential helper `{program}` failed: {one_line(said)}")
            return None
        try:
            answer = json.loads(done.stdout)
            username, secret = str(answer["Username"]), str(answer["Secret"])
        except (ValueError, LookupError, TypeError):
            self._warn(f"the credential helper `{program}` gave no `Username` and `Secret`")
            return None
        return _credential(f"`{program}`", username, secret)


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    """Docker's file, then Podman's."""
    home = Path(environment.get("HOME") or "/")
    yield Path(environment.get("DOCKER_CONFIG") or home / ".docker") / "config.json"
    if named := environment.get("REGISTRY_AUTH_FILE"):
        yield Path(named)
    elif runtime := environment.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "containers" / "auth.json"


def _stored(settings: Mapping[str, object], registry: str, path: str) -> Credential | None:
    entries = settings.get("auths")
    for key, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and _host(key) == registry:
            return _of_entry(entry, f"`{path}`")
    return None


def _host(key: str) -> str | None:
    """The registry that an entry is for; None if it is for one namespace of it."""
    host, _, path = re.sub(r"^https?://", "", key).partition("/")
    if path.rstrip("/") not in ("", "v1", "v2"):
        return None
    return DEFAULT_REGISTRY if host == "index.docker.io" else host


def _of_entry(entry: Mapping[str, object], source: str) -> Credential | None:
    username, secret = entry.get("username"), entry.get("password")
    if (auth := entry.get("auth")) and isinstance(auth, str):
        try:
            pair = base64.b64decode(auth, validate=True).decode("utf-8").rstrip("\0")
        except (binascii.Error, UnicodeDecodeError):
            return None
        username, _, secret = pair.partition(":")
    if (token := entry.get("identitytoken")) and isinstance(token, str):
        return Credential(source=source, identity_token=token)
    if isinstance(username, str) and isinstance(secret, str) and username:
        return _credential(source, username, secret)
    return None


def _credential(source: str, username: str, secret: str) -> Credential:
    """Helpers mark an identity token by the user `<token>`."""
    if username == "<token>":
        return Credential(source=source, identity_token=secret)
    return Credential(source=source, username=username, secret=secret)
