"""A Hub on loopback: repositories with commits, small files in git and large ones beside it, gated ones."""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from tests.registry.http_server import Asked, HttpServer, Reply, serving

LARGE_BYTES = 10_000


@dataclass
class Repository:
    """The files of each commit, newest last; `is_gated` asks for the token."""

    commits: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    is_gated: bool = False

    def push(self, files: Mapping[str, bytes]) -> str:
        """A new commit, which `main` names from now on."""
        listing = json.dumps({name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, sort_keys=True)
        commit = hashlib.sha1(f"{len(self.commits)} {listing}".encode(), usedforsecurity=False).hexdigest()
        self.commits[commit] = dict(files)
        return commit

    def find(self, revision: str) -> str | None:
        """The commit that a revision names."""
        return list(self.commits)[-1] if revision == "main" else revision if revision in self.commits else None


class FakeHub:
    """A running Hub; `repositories` maps `models/NAME` and `datasets/NAME` to what is in them."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.repositories: dict[str, Repository] = {}
        # What comes in place of a file's own bytes.
        self.served: dict[str, bytes] = {}
        self.server: HttpServer | None = None
        # Where large files lie: another address, which must never see the token.
        self.store: HttpServer | None = None

    @property
    def url(self) -> str:
        """What `HF_ENDPOINT` says."""
        assert self.server is not None
        return self.server.url

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for so far, here and in the store."""
        assert self.server is not None
        assert self.store is not None
        return [asked.path for asked in (*self.server.asked, *self.store.asked)]

    def add(self, name: str, files: Mapping[str, bytes], *, is_gated: bool = False) -> str:
        """A repository with one commit."""
        self.repositories[name] = Repository(is_gated=is_gated)
        return self.repositories[name].push(files)

    def answer(self, asked: Asked) -> Reply:
        """What it says to one request."""
        path = unquote(urlsplit(asked.path).path).strip("/")
        if path.startswith("api/"):
            name, _, revision = path.removeprefix("api/").partition("/revision/")
            return self._list(name, revision, asked)
        name, _, rest = path.partition("/resolve/")
        name = name if name.startswith("datasets/") else f"models/{name}"
        revision, _, file = rest.partition("/")
        return self._send(name, revision, file, asked)

    def _list(self, name: str, revision: str, asked: Asked) -> Reply:
        found = self._find(name, revision, asked)
        if isinstance(found, Reply):
            return found
        repository, commit = found
        siblings = [_sibling(file, data) for file, data in repository.commits[commit].items()]
        return Reply(body=json.dumps({"id": name, "sha": commit, "siblings": siblings}).encode())

    def _send(self, name: str, revision: str, file: str, asked: Asked) -> Reply:
        found = self._find(name, revision, asked)
        if isinstance(found, Reply):
            return found
        repository, commit = found
        data = repository.commits[commit].get(file)
        if data is None:
            return Reply(status=404)
        if len(data) > LARGE_BYTES:
            assert self.store is not None
            digest = hashlib.sha256(data).hexdigest()
            return Reply(status=302, headers={"Location": f"{self.store.url}/{digest}?signature=secret"})
        return Reply(body=self.served.get(file, data))

    def send_large(self, asked: Asked) -> Reply:
        """What the store of large files says."""
        wanted = urlsplit(asked.path).path.strip("/")
        for repository in self.repositories.values():
            for files in repository.commits.values():
                for name, data in files.items():
                    if hashlib.sha256(data).hexdigest() == wanted:
                        return Reply(body=self.served.get(name, data))
        return Reply(status=404)

    def _find(self, name: str, revision: str, asked: Asked) -> tuple[Repository, str] | Reply:
        repository = self.repositories.get(name)
        if repository is None or (repository.is_gated and asked.headers.get("authorization") != f"Bearer {self.token}"):
            return Reply(status=401)
        commit = repository.find(revision)
        return Reply(status=404) if commit is None else (repository, commit)


def _sibling(name: str, data: bytes) -> dict[str, object]:
    said: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": "0" * 40}
    if len(data) > LARGE_BYTES:
        digest = hashlib.sha256(data).hexdigest()
        said["lfs"] = {"sha256": digest, "size": len(data), "pointerSize": 134}
    return said


@contextlib.contextmanager
def serving_hub(*, token: str = "hub-token") -> Iterator[FakeHub]:
    """The Hub while it runs."""
    hub = FakeHub(token)
    with serving(hub.answer) as server, serving(hub.send_large) as store:
        hub.server, hub.store = server, store
        yield hub
