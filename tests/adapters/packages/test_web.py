"""An index is asked patiently and within bounds, and a login goes where it belongs."""

import gzip
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.adapters.packages import web as web_module
from rdlc.adapters.packages.simple_index import SimpleIndex
from rdlc.adapters.packages.web import NotThereError, Web, join_url, origin_of
from rdlc.errors import OutsideError
from tests.packages.distributions import build_wheel
from tests.packages.package_index import Form, Upload, serving_index
from tests.registry.http_server import Asked, Reply, serving
from tests.registry.processes import free_port

PEFT = build_wheel("peft", "0.2")


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    client = Web()
    yield client
    client.close()


def read(web: Web, url: str) -> bytes:
    return web.read_page(url, accept="*/*", what="page").data


@pytest.mark.parametrize("form", ["json", "html"])
def test_an_index_tells_its_releases_in_either_form(web: Web, form: Form) -> None:
    with serving_index(PEFT, build_wheel("peft", "0.1"), build_wheel("trl", "1.0"), form=form) as index:
        found = [SimpleIndex(index.url + "/", web=web).releases(name) for name in ("peft", "absent")]
        asked = index.asked

    assert [[release.version for release in releases] for releases in found] == [["0.1", "0.2"], []]
    assert asked == ["/simple/peft/", "/simple/absent/"]


@pytest.mark.parametrize("form", ["json", "html"])
def test_an_index_tells_of_single_files(web: Web, form: Form) -> None:
    trl = Upload(file=build_wheel("trl", "1.0"), yanked="broken")
    with serving_index(PEFT, build_wheel("peft", "0.1"), trl, form=form) as index:
        wanted = {"peft": {PEFT.name, "peft-9.tar.gz"}, "trl": {trl.file.name}, "absent": {PEFT.name}}
        found = SimpleIndex(index.url, web=web).files(wanted)

    assert [(file.name, file.sha256, file.yanked) for file in found] == [
        (PEFT.name, f"sha256:{PEFT.sha256}", None), (trl.file.name, f"sha256:{trl.file.sha256}", "broken"),
    ]  # fmt: skip


def test_a_page_is_asked_for_as_json_first(web: Web) -> None:
    with serving_index(PEFT) as index:
        SimpleIndex(index.url, web=web).releases("peft")
        assert index.server is not None
        (asked,) = index.server.asked

    assert asked.headers["accept"].startswith("application/vnd.pypi.simple.v1+json, ")
    assert "authorization" not in asked.headers


def test_a_passing_trouble_is_waited_for(web: Web) -> None:
    answers = iter([Reply(status=503), Reply(status=429, headers={"Retry-After": "3600"}), Reply(body=b"here")])
    with serving(lambda asked: next(answers)) as server:
        assert read(web, server.url) == b"here"


def test_a_lasting_trouble_is_told(web: Web) -> None:
    with serving(lambda asked: Reply(status=503)) as server, pytest.raises(OutsideError) as caught:
        read(web, server.url)

    assert (caught.value.message, caught.value.hint) == ("`127.0.0.1` answers 503 for the page", "try again later")


def test_an_index_that_stalls_is_left(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "_TIMEOUTS_S", (60, 0.1))
    is_over = threading.Event()

    def stall(asked: Asked) -> Reply:
        is_over.wait(timeout=120)
        return Reply()

    with serving(stall) as server:
        with pytest.raises(OutsideError) as caught:
            read(web, server.url)
        is_over.set()

    assert caught.value.message.startswith("`127.0.0.1` does not give the page: ")
    assert "Read timed out" in caught.value.message


@pytest.mark.parametrize("status", [401, 403])
def test_a_missing_login_is_told(web: Web, status: int) -> None:
    with serving(lambda asked: Reply(status=status)) as server, pytest.raises(OutsideError) as caught:
        read(web, server.url)

    assert (caught.value.message, caught.value.hint) == (
        f"`127.0.0.1` does not give the page: status {status}",
        "put the user name and the password for `127.0.0.1` into `~/.netrc`",
    )


@pytest.mark.parametrize("status", [404, 410])
def test_what_is_not_there_is_an_error_of_its_own(web: Web, status: int) -> None:
    with serving(lambda asked: Reply(status=status)) as server, pytest.raises(NotThereError) as caught:
        read(web, server.url)

    assert caught.value.message == "`127.0.0.1` has no page"


def test_a_page_without_end_is_left(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "PAGE_LIMIT_BYTES", 1000)
    with serving(lambda asked: Reply(body=b"x" * 1001)) as server, pytest.raises(OutsideError) as caught:
        read(web, server.url)

    assert caught.value.message == "the page is larger than 1000 bytes"


def test_a_page_that_grows_when_unpacked_is_left(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "PAGE_LIMIT_BYTES", 1 << 20)
    packed = Reply(body=gzip.compress(b"\0" * (8 << 20)), headers={"Content-Encoding": "gzip"})
    with serving(lambda asked: packed) as server, pytest.raises(OutsideError) as caught:
        read(web, server.url)

    assert caught.value.message == "the page is larger than 1048576 bytes"


def test_a_file_called_gzip_encoded_comes_as_it_was_stored(web: Web) -> None:
    stored = gzip.compress(b"content")
    answer = Reply(body=stored, headers={"Content-Encoding": "gzip"})
    with serving(lambda asked: answer) as server, web.open_file(server.url, what="file") as chunks:
        assert b"".join(chunks) == stored

    assert server.asked[0].headers["accept-encoding"] == "identity"


def test_a_redirect_is_followed_without_the_login_of_where_it_came_from(web: Web, tmp_path: Path) -> None:
    with serving(lambda asked: Reply(body=b"here")) as target:
        moved = Reply(status=302, headers={"Location": f"http://me:secret@localhost:{target.port}/x"})
        with serving(lambda asked: moved) as source:
            client = Web(logins={origin_of(source.url): ("some", "word")})
            data = read(client, source.url)
            client.close()

    assert data == b"here"
    assert source.asked[0].headers["authorization"] == "Basic c29tZTp3b3Jk"
    assert "authorization" not in target.asked[0].headers


def test_a_login_comes_from_netrc(tmp_path: Path, web: Web) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login some password word\n")
    with serving(lambda asked: Reply(body=b"here")) as server:
        read(web, server.url)

    assert server.asked[0].headers["authorization"] == "Basic c29tZTp3b3Jk"


def test_redirects_without_end_are_left(web: Web) -> None:
    moved = Reply(status=302, headers={"Location": "/x"})
    with serving(lambda asked: moved) as server, pytest.raises(OutsideError) as caught:
        read(web, server.url)

    assert caught.value.message == "more than 5 redirects for the page"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "//[x", "gopher://x/", "/\t"])
def test_a_redirect_to_what_is_no_http_address_is_refused(web: Web, target: str) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(status=302, headers={"Location": target})

    with serving(answer) as server, pytest.raises(OutsideError) as caught:
        read(web, server.url)

    assert caught.value.message == "`127.0.0.1` redirects the page to what is no http address"


def test_a_redirect_from_https_to_plain_http_is_refused() -> None:
    with pytest.raises(OutsideError) as caught:
        web_module._redirected("https://one.example/a", "http://two.example/b?sign=x", "page")

    assert caught.value.message == "`one.example` redirects from https to plain HTTP, `http://two.example/b`"


def test_nobody_at_the_address_is_told(web: Web) -> None:
    with pytest.raises(OutsideError) as caught:
        read(web, f"http://127.0.0.1:{free_port()}/")

    assert caught.value.message.startswith("`127.0.0.1` does not give the page: ")
    assert caught.value.hint == "check the name, the network and `HTTPS_PROXY`"


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("../f/x.whl#sha256=1", "https://h.example:1/f/x.whl"),
        ("//o.example/x?a=b", "https://o.example/x?a=b"),
        ("http://me:secret@o.example/x", "http://o.example/x"),
        ("http://[::1]:2/x", "http://[::1]:2/x"),
        ("ftp://o.example/x", None),
        ("http://o.example:x/", None),
        ("a\x00b", None),
        ("\u00e9", None),
    ],
)
def test_addresses_of_pages_are_http_without_user_info(reference: str, url: str | None) -> None:
    assert join_url("https://h.example:1/simple/peft/", reference.replace("../f", "../../f")) == url
