"""Text in S3: what a listing says of each object, and its bytes."""

import base64
import binascii
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rdlc.adapters.aws.errors import explain, unreachable
from rdlc.adapters.hub.folder import FILES_LIMIT
from rdlc.core.data.files import LISTING, STATED, LockedFile, LockedFiles
from rdlc.core.data.origin import Origin, select_files
from rdlc.core.text import one_line
from rdlc.errors import InputError, OutsideError, RdlcError

_CHUNK_BYTES = 1 << 20
_MISSING = {"404", "NoSuchKey", "NoSuchBucket", "NoSuchVersion", "NotFound"}
_CHANGED = {"412", "PreconditionFailed"}


class S3:
    """Buckets, with the AWS credentials of this machine."""

    def __init__(self) -> None:
        try:
            from botocore.config import Config
            from botocore.session import Session
        except ImportError as error:
            raise RdlcError("boto3 is missing, and reads from S3", hint="`pip install 'rdlc[aws]'`") from error
        session = Session()
        limits = Config(connect_timeout=10, read_timeout=60, retries={"total_max_attempts": 3})
        region = session.get_config_variable("region") or "us-east-1"
        with _explained("S3"):
            self._client: Any = session.create_client("s3", region_name=region, config=limits)

    def find_files(self, origin: Origin, *, what: str) -> LockedFiles:
        """The objects that the origin asks for: size, version, ETag, and the sha256 where S3 keeps one."""
        bucket, prefix = origin.bucket
        with _explained(f"the listing of `{origin.place}`"):
            keys = self._list_keys(bucket, prefix)
            names = select_files(list(keys), origin, what=what)
            files = {name: self._look(bucket, keys[name]) for name in names}
        is_stated = all(file.sha256 for file in files.values())
        return LockedFiles(evidence=STATED if is_stated else LISTING, files=files)

    def find_missing(self, origin: Origin, locked: LockedFiles) -> tuple[str, ...]:
        """The locked files whose locked version is gone, or which are other objects now."""
        bucket, _ = origin.bucket
        missing = []
        for name, file in sorted(locked.files.items()):
            pin = {"VersionId": file.version} if file.version else {}
            try:
                with _explained(f"`{one_line(name)}` of `{bucket}`"):
                    head = self._client.head_object(Bucket=bucket, Key=self._key(origin, name), **pin)
            except OutsideError:
                raise
            except RdlcError:
                missing.append(name)
                continue
            if (head["ETag"].strip('"'), int(head["ContentLength"])) != (file.etag, file.size):
                missing.append(name)
        return tuple(missing)

    @contextmanager
    def open_file(self, origin: Origin, name: str, locked: LockedFile) -> Iterator[Iterator[bytes]]:
        """The bytes of the locked version of an object, or of one that still has the locked ETag."""
        bucket, _ = origin.bucket
        key = self._key(origin, name)
        pin = {"VersionId": locked.version} if locked.version else {"IfMatch": f'"{locked.etag}"'}
        with _explained(f"`{one_line(key)}` of `{bucket}`"):
            body = self._client.get_object(Bucket=bucket, Key=key, **pin)["Body"]
            try:
                yield body.iter_chunks(_CHUNK_BYTES)
            finally:
                body.close()

    def _key(self, origin: Origin, name: str) -> str:
        """The key of a locked name: below the prefix, or the one object that the address names."""
        _, prefix = origin.bucket
        return prefix if prefix.rpartition("/")[2] == name else f"{_folder(prefix)}{name}"

    def _list_keys(self, bucket: str, prefix: str) -> dict[str, str]:
        """Name below the prefix to key; for an object that the address names, its own name."""
        keys: dict[str, str] = {}
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for item in page.get("Contents", ()):
                key = item["Key"]
                if key == prefix and not key.endswith("/"):
                    return {key.rpartition("/")[2]: key}
                name = key[len(_folder(prefix)) :] if key.startswith(_folder(prefix)) else ""
                if not name or name.endswith("/"):
                    continue
                if not name.isprintable() or "\\" in name or any(part in {"", ".", ".."} for part in name.split("/")):
                    raise InputError(f"the key `{one_line(key)}` cannot be locked", field="data.path")
                keys[name] = key
                if len(keys) > FILES_LIMIT:
                    raise InputError(f"`s3://{bucket}/{prefix}` holds more than {FILES_LIMIT} objects")
        return keys

    def _look(self, bucket: str, key: str) -> LockedFile:
        head = self._client.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
        version = head.get("VersionId", "")
        is_whole = head.get("ChecksumType", "FULL_OBJECT") == "FULL_OBJECT"
        return LockedFile(
            size=int(head["ContentLength"]),
            sha256=_sha256(head.get("ChecksumSHA256", "")) if is_whole else "",
            version="" if version == "null" else version,
            etag=head["ETag"].strip('"'),
        )


def _folder(prefix: str) -> str:
    return f"{prefix.rstrip('/')}/" if prefix else ""


def _sha256(encoded: str) -> str:
    # Of an object in parts it is the digest of digests, with the number of parts behind it.
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return f"sha256:{data.hex()}" if len(data) == 32 else ""


@contextmanager
def _explained(asked: str) -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    try:
        yield
    except NoCredentialsError as error:
        raise OutsideError(
            f"{asked}: there are no AWS credentials", hint="`aws sso login`, or set `AWS_PROFILE`"
        ) from error
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "unknown"))
        if code in _MISSING:
            raise RdlcError(f"{asked}: S3 has no such bucket, object or version") from error
        if code in _CHANGED:
            raise RdlcError(f"{asked}: is another object now than the one that was locked") from error
        raise explain(code, str(error), asked=asked) from error
    except (BotoCoreError, ValueError, KeyError) as error:
        raise unreachable(str(error), asked=asked) from error
