"""Pages of the Simple API are read in both forms, and nothing in them is believed."""

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.packages.index_page import merged, read_releases
from rdlc.adapters.packages.web import Page
from rdlc.core.packages.resolution import IndexFile, Release
from rdlc.errors import OutsideError

JSON = "application/vnd.pypi.simple.v1+json"
DIGEST = "ab" * 32


def json_page(*files: object, version: object = "1.1", url: str = "https://index.example/simple/peft/") -> Page:
    data = json.dumps({"meta": {"api-version": version}, "name": "peft", "files": files}).encode()
    return Page(url=url, content_type=JSON, data=data)


def html_page(body: str) -> Page:
    data = f"<!DOCTYPE html><html><body>{body}</body></html>".encode()
    return Page(url="https://index.example/simple/peft/", content_type="text/html", data=data)


def read(page: Page) -> tuple[Release, ...]:
    return read_releases(page, name="peft", what="page of `peft`")


def wheel(
    version: str, *, yanked: str | None = None, size: int | None = None, digest: str | None = DIGEST
) -> IndexFile:
    name = f"peft-{version}-py3-none-any.whl"
    return IndexFile(
        name=name, url=f"https://index.example/f/{name}", size=size,
        sha256=f"sha256:{digest}" if digest else None, yanked=yanked,
    )  # fmt: skip


def test_releases_come_oldest_first_with_their_files_by_name() -> None:
    names = ["peft-1.10-py3-none-any.whl", "peft-1.9.tar.gz", "peft-1.9-py3-none-any.whl", "peft-1.9rc1.tar.gz"]
    page = json_page(*({"filename": name, "url": f"/f/{name}", "hashes": {}} for name in names))

    assert [(release.version, [file.name for file in release.files]) for release in read(page)] == [
        ("1.9rc1", ["peft-1.9rc1.tar.gz"]),
        ("1.9", ["peft-1.9-py3-none-any.whl", "peft-1.9.tar.gz"]),
        ("1.10", ["peft-1.10-py3-none-any.whl"]),
    ]


def test_json_tells_size_digest_and_why_a_file_was_yanked() -> None:
    page = json_page(
        {"filename": "peft-1.0-py3-none-any.whl", "url": "../../f/peft-1.0-py3-none-any.whl", "size": 7,
         "hashes": {"sha256": DIGEST}, "yanked": "broken\x1b[31m"},
        {"filename": "peft-1.1-py3-none-any.whl", "url": "https://index.example/f/peft-1.1-py3-none-any.whl",
         "hashes": {"md5": "x"}, "yanked": True},
        {"filename": "peft-1.2-py3-none-any.whl", "url": "/f/peft-1.2-py3-none-any.whl#sha256=00", "hashes": {},
         "yanked": False},
    )  # fmt: skip

    assert read(page) == (
        Release(version="1.0", files=(wheel("1.0", yanked="broken\\x1b[31m", size=7),)),
        Release(version="1.1", files=(wheel("1.1", yanked="", digest=None),)),
        Release(version="1.2", files=(wheel("1.2", digest=None),)),
    )


def test_html_tells_the_digest_and_why_a_file_was_yanked() -> None:
    page = html_page(
        f'<a href="../../f/peft-1.0-py3-none-any.whl#sha256={DIGEST}" data-yanked="a &amp; b">x</a>'
        '<A HREF="/f/peft-1.1-py3-none-any.whl#md5=00" data-yanked>x</A>'
        '<a href="/f/peft-1.2%2Bcu130-py3-none-any.whl">x</a><a>nothing</a>'
    )

    assert read(page) == (
        Release(version="1.0", files=(wheel("1.0", yanked="a & b"),)),
        Release(version="1.1", files=(wheel("1.1", yanked="", digest=None),)),
        Release(
            version="1.2+cu130",
            files=(
                IndexFile(
                    name="peft-1.2+cu130-py3-none-any.whl",
                    url="https://index.example/f/peft-1.2%2Bcu130-py3-none-any.whl",
                    size=None,
                    sha256=None,
                    yanked=None,
                ),
            ),
        ),
    )


def test_html_addresses_are_relative_to_its_base() -> None:
    page = html_page('<base href="https://files.example/x/"><a href="peft-1.0.tar.gz">x</a>')

    assert [file.url for release in read(page) for file in release.files] == ["https://files.example/x/peft-1.0.tar.gz"]


@pytest.mark.parametrize(
    "file",
    [
        {"filename": "peft-1.0-py3.7.egg", "url": "/f/x"},
        {"filename": "trl-1.0-py3-none-any.whl", "url": "/f/x"},
        {"filename": "peft-banana-py3-none-any.whl", "url": "/f/x"},
        {"filename": "../peft-1.0.tar.gz", "url": "/f/x"},
        {"filename": "peft-1.0.tar.gz", "url": "file:///etc/passwd"},
        {"filename": "peft-1.0.tar.gz", "url": "https://[broken/x"},
        {"filename": "peft-1.0.tar.gz"},
        {"filename": ["peft-1.0.tar.gz"], "url": "/f/x"},
        "peft-1.0.tar.gz",
    ],
)
def test_what_pip_could_not_install_is_left_out(file: object) -> None:
    assert read(json_page(file)) == ()


def test_user_info_of_an_address_is_dropped() -> None:
    (release,) = read(json_page({"filename": "peft-1.0.tar.gz", "url": "https://me:secret@files.example:1/x"}))

    assert release.files[0].url == "https://files.example:1/x"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (Page(url="https://x/", content_type="text/plain\x1b", data=b""),
         "the page of `peft` is neither JSON nor HTML, but `text/plain\\x1b`"),
        (Page(url="https://x/", content_type=JSON, data=b"{"), "the page of `peft` is no JSON of the Simple API"),
        (Page(url="https://x/", content_type=JSON, data=b"[]"), "the page of `peft` is no JSON of the Simple API"),
        (Page(url="https://x/", content_type=JSON, data=b'{"files": {}}'),
         "the page of `peft` is no JSON of the Simple API"),
        (json_page(version="2.0"), "the page of `peft` has version `2` of the Simple API, and only 1 is known"),
    ],
)  # fmt: skip
def test_what_is_no_page_is_refused(page: Page, message: str) -> None:
    with pytest.raises(OutsideError) as caught:
        read(page)

    assert caught.value.message == message


FILE = st.fixed_dictionaries(
    {},
    optional={
        "filename": st.sampled_from(["peft-1.0.tar.gz", "peft-2-py3-none-any.whl"]) | st.text() | st.none(),
        "url": st.text() | st.sampled_from(["/f/x", "//[x", "https://h:99999/x"]) | st.integers(),
        "hashes": st.none() | st.dictionaries(st.just("sha256"), st.text() | st.integers()),
        "size": st.integers() | st.floats() | st.text() | st.booleans(),
        "yanked": st.booleans() | st.text() | st.lists(st.text()),
    },
)


@given(st.lists(FILE | st.text() | st.none()), st.text() | st.integers() | st.none())
def test_no_json_raises_any_other_error(files: list[object], version: object) -> None:
    try:
        releases = read(json_page(*files, version=version))
    except OutsideError:
        return
    for release in releases:
        for file in release.files:
            assert file.url.startswith(("https://", "http://"))
            assert file.size is None or file.size > 0


@given(st.binary())
def test_no_bytes_raise_any_other_error(data: bytes) -> None:
    for content_type in (JSON, "text/html"):
        try:
            read(Page(url="https://x/", content_type=content_type, data=data))
        except OutsideError:
            assert content_type == JSON


@given(st.lists(st.tuples(st.text(), st.text())))
def test_no_html_raises_any_error(links: list[tuple[str, str]]) -> None:
    anchors = "".join(f'<a href="{html.escape(url)}" data-yanked="{html.escape(why)}">' for url, why in links)

    assert isinstance(read(html_page(anchors)), tuple)


def test_files_get_what_the_page_knows_beyond() -> None:
    bare = wheel("1.0", digest=None)
    other = wheel("1.1", size=5)
    known = wheel("1.0", size=7, yanked="broken")

    assert merged((bare, other), (known,)) == (known, other)
