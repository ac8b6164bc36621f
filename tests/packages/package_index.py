"""A package index on loopback: the Simple API as JSON or HTML, with what real ones leave out or do wrong."""

import base64
import contextlib
import html
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from tests.packages.distributions import BuiltFile
from tests.registry.http_server import Asked, HttpServer, Reply, serving

Form = Literal["json", "html"]
Fault = Callable[[Asked, Reply], Reply]
UPLOADED = "2026-01-01T00:00:00Z"
_TYPES = {"json": "application/vnd.pypi.simple.v1+json", "html": "text/html"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file of the index, as its page tells it; `served` are the bytes that come, if not the file's own."""

    file: BuiltFile
    uploaded: str | None = UPLOADED
    yanked: str | None = None
    served: bytes | None = None
    has_hash: bool = True


class PackageIndex:
    """A running index. `fault`, `form`, `login` and `max_age_s` may be changed meanwhile.

    A page may be kept by who asks for it for `max_age_s`.
    """

    def __init__(self, *uploads: BuiltFile | Upload, form: Form, login: tuple[str, str] | None) -> None:
        self.uploads = [_upload(upload) for upload in uploads]
        self.form = form
        self.login = login
        self.fault: Fault | None = None
        self.max_age_s = 0
        self.server: HttpServer | None = None

    @property
    def url(self) -> str:
        """Where its Simple API is."""
        assert self.server is not None
        return f"{self.server.url}/simple"

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for so far."""
        assert self.server is not None
        return [asked.path for asked in self.server.asked]

    def add(self, *uploads: BuiltFile | Upload) -> None:
        """Uploads more files."""
        self.uploads += [_upload(upload) for upload in uploads]

    def replace(self, *uploads: BuiltFile | Upload) -> None:
        """Holds these files from now on, and no others."""
        self.uploads = [_upload(upload) for upload in uploads]

    def answer(self, asked: Asked) -> Reply:
        """What it says to one request."""
        if self.login is not None:
            known = base64.b64encode(":".join(self.login).encode()).decode()
            if asked.headers.get("authorization") != f"Basic {known}":
                return Reply(status=401, headers={"WWW-Authenticate": 'Basic realm="index"'})
        right = self._answer(urlsplit(asked.path).path)
        return self.fault(asked, right) if self.fault else right

    def _answer(self, path: str) -> Reply:
        kind, _, name = path.strip("/").partition("/")
        if kind == "simple":
            found = [upload for upload in self.uploads if upload.file.project == name]
            return self._page(name, found) if found else Reply(status=404)
        return self._file(name)

    def _file(self, name: str) -> Reply:
        for upload in self.uploads:
            if upload.file.name == name:
                return Reply(body=upload.file.data if upload.served is None else upload.served)
            if f"{upload.file.name}.metadata" == name:
                return Reply(body=upload.file.metadata)
        return Reply(status=404)

    def _page(self, name: str, uploads: list[Upload]) -> Reply:
        headers = {"Content-Type": _TYPES[self.form], "Cache-Control": f"max-age={self.max_age_s}"}
        if self.form == "html":
            return Reply(body=_html(name, uploads), headers=headers)
        versions = sorted({upload.file.version for upload in uploads})
        files = [_json_file(upload) for upload in uploads]
        page = {"meta": {"api-version": "1.1"}, "name": name, "versions": versions, "files": files}
        return Reply(body=json.dumps(page).encode(), headers=headers)


@contextlib.contextmanager
def serving_index(
    *uploads: BuiltFile | Upload, form: Form = "json", login: tuple[str, str] | None = None
) -> Iterator[PackageIndex]:
    """The index while it runs; `login` is the user name and password that it asks for."""
    index = PackageIndex(*uploads, form=form, login=login)
    with serving(index.answer) as server:
        index.server = server
        yield index


def _upload(upload: BuiltFile | Upload) -> Upload:
    return upload if isinstance(upload, Upload) else Upload(file=upload)


def _json_file(upload: Upload) -> dict[str, Any]:
    file = upload.file
    fields: dict[str, Any] = {
        "filename": file.name,
        "url": f"/files/{file.name}",
        "hashes": {"sha256": file.sha256} if upload.has_hash else {},
        "size": len(file.data),
        "yanked": False if upload.yanked is None else upload.yanked or True,
    }
    if upload.uploaded is not None:
        fields["upload-time"] = upload.uploaded
    return {**fields, "core-metadata": True} if file.name.endswith(".whl") else fields


def _html(name: str, uploads: list[Upload]) -> bytes:
    lines = [f"<!DOCTYPE html><html><head><title>{name}</title></head><body>"]
    for upload in uploads:
        fragment = f"#sha256={upload.file.sha256}" if upload.has_hash else ""
        yanked = "" if upload.yanked is None else f' data-yanked="{html.escape(upload.yanked)}"'
        lines.append(f'<a href="../../files/{upload.file.name}{fragment}"{yanked}>{upload.file.name}</a><br>')
    return "\n".join([*lines, "</body></html>"]).encode()
