"""Text in S3, on a bucket of loopback: what is known of each object, and what comes later."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from rdlc.adapters.hub.s3 import S3
from rdlc.adapters.hub.store import DataStore
from rdlc.core.data.files import LockedFile, LockedFiles
from rdlc.core.data.origin import Origin
from rdlc.errors import RdlcError

ORIGIN = Origin(kind="s3", place="s3://corpus/2026")
ONE, TWO = b'{"text": "one"}\n', b"two\n\nthree\n"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def client(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    made: Any = boto3.client("s3", region_name="us-east-1")
    boto3.resource("s3", region_name="us-east-1").meta.client.create_bucket(Bucket="corpus")
    yield made
    bucket = boto3.resource("s3", region_name="us-east-1").Bucket("corpus")
    bucket.object_versions.delete()
    bucket.delete()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def etag(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def fetch(s3: S3, files: LockedFiles, cache: Path) -> dict[str, str]:
    found = DataStore(cache).fetch(
        ORIGIN, files, what="dataset", open_file=lambda name, file: s3.open_file(ORIGIN, name, file)
    )
    return dict(found.digests)


def test_objects_without_versions_and_checksums_are_known_by_size_and_etag(client: Any) -> None:
    client.put_object(Bucket="corpus", Key="2026/a/one.jsonl", Body=ONE)
    client.put_object(Bucket="corpus", Key="2026/two.txt", Body=TWO)
    client.put_object(Bucket="corpus", Key="2026/notes.py", Body=b"")
    client.put_object(Bucket="corpus", Key="2026-other/x.txt", Body=b"x")

    assert S3().find_files(ORIGIN, what="dataset") == LockedFiles(
        evidence="listing",
        files={
            "a/one.jsonl": LockedFile(size=len(ONE), etag=etag(ONE)),
            "two.txt": LockedFile(size=len(TWO), etag=etag(TWO)),
        },
    )


def test_versions_and_checksums_are_locked_where_s3_keeps_them(client: Any) -> None:
    client.put_bucket_versioning(Bucket="corpus", VersioningConfiguration={"Status": "Enabled"})
    said = client.put_object(Bucket="corpus", Key="2026/two.txt", Body=TWO, ChecksumAlgorithm="SHA256")

    assert S3().find_files(ORIGIN, what="dataset") == LockedFiles(
        evidence="stated",
        files={"two.txt": LockedFile(size=len(TWO), sha256=digest(TWO), version=said["VersionId"], etag=etag(TWO))},
    )


def test_locked_version_comes_also_after_it_was_replaced(client: Any, tmp_path: Path) -> None:
    client.put_bucket_versioning(Bucket="corpus", VersioningConfiguration={"Status": "Enabled"})
    client.put_object(Bucket="corpus", Key="2026/two.txt", Body=TWO)
    files = S3().find_files(ORIGIN, what="dataset")
    client.put_object(Bucket="corpus", Key="2026/two.txt", Body=ONE)

    assert S3().find_missing(ORIGIN, files) == ()
    assert fetch(S3(), files, tmp_path) == {"two.txt": digest(TWO)}


def test_replaced_object_of_a_bucket_without_versions_is_refused(client: Any, tmp_path: Path) -> None:
    client.put_object(Bucket="corpus", Key="2026/two.txt", Body=TWO)
    files = S3().find_files(ORIGIN, what="dataset")
    client.put_object(Bucket="corpus", Key="2026/two.txt", Body=TWO.upper())

    with pytest.raises(RdlcError) as caught:
        fetch(S3(), files, tmp_path)

    assert caught.value.message == ("`2026/two.txt` of `corpus`: is another object now than the one that was locked")
    assert S3().find_missing(ORIGIN, files) == ("two.txt",)


def test_file_without_a_locked_digest_is_not_asked_for_again_and_damage_is_noticed(client: Any, tmp_path: Path) -> None:
    client.put_object(Bucket="corpus", Key="2026/two.txt", Body=TWO)
    files = S3().find_files(ORIGIN, what="dataset")
    first = fetch(S3(), files, tmp_path)
    client.delete_object(Bucket="corpus", Key="2026/two.txt")

    again = fetch(S3(), files, tmp_path)
    [path] = tmp_path.rglob("two.txt")
    path.write_bytes(TWO.upper())

    assert first == again == {"two.txt": digest(TWO)}
    with pytest.raises(RdlcError):
        fetch(S3(), files, tmp_path)


def test_bucket_that_is_not_there_is_named(client: Any) -> None:
    with pytest.raises(RdlcError) as caught:
        S3().find_files(Origin(kind="s3", place="s3://nobody/x"), what="dataset")

    assert caught.value.message == "the listing of `s3://nobody/x`: S3 has no such bucket, object or version"
