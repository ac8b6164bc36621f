"""lock/README.md and the JSON Schema beside it say what is true."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from rdlc.core.block import parse_block, write_block
from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.lockfile import RunLock, read_lock, write_lock
from rdlc.core.record import STATUSES, write_record
from rdlc.errors import InputError
from tests.core.lock_samples import full_lock, packages_lock, text_lock
from tests.core.strategies import locks
from tests.diff_samples import make_lock, make_record
from tests.image_samples import image_lock
from tests.infra_samples import eks_lock

FOLDER = Path(__file__).resolve().parents[2] / "lock"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
SCHEMA: dict[str, Any] = json.loads((FOLDER / "run-lock.schema.json").read_text(encoding="utf-8"))
# Target local has an environment, docker an image, eks infrastructure, too: together they have every field.
DATA = {
    "local": write_lock(packages_lock()),
    "docker": write_lock(image_lock()),
    "eks": write_lock(eks_lock()),
    "text": write_lock(text_lock()),
}


def script() -> str:
    """The recomputation between the markers of the page."""
    found = re.search(r"<!-- recompute -->\n```python\n(.*?)```\n<!-- end recompute -->", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def recompute(path: Path) -> dict[str, Any]:
    """What the script of the page says of a file, run as a reader would run it."""
    done = subprocess.run(
        (sys.executable, "-I", "-c", script(), str(path)), capture_output=True, check=True, timeout=120
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_recomputation_is_ten_lines_of_the_standard_library() -> None:
    lines = script().splitlines()

    assert len(lines) == 10
    assert lines[0] == "import hashlib, json, re, sys"
    assert [line for line in lines[1:] if "import" in line] == []


@pytest.mark.parametrize("lock", [make_lock(), full_lock(), packages_lock(), image_lock(), eks_lock(), text_lock()])
def test_the_recomputation_of_the_page_gives_the_id_and_every_digest(tmp_path: Path, lock: RunLock) -> None:
    path = tmp_path / "x.lock.yaml"
    path.write_bytes(write_lock(lock))

    assert recompute(path) == {"id": lock.id, "sections": lock.digests, "fits": True}


def test_the_recomputation_of_the_page_notices_a_change(tmp_path: Path) -> None:
    path = tmp_path / "x.lock.yaml"
    path.write_bytes(DATA["local"].replace(b'python: "3.11.7"', b'python: "3.11.8"', 1))

    said = recompute(path)

    changed = [name for name, digest in said["sections"].items() if digest != packages_lock().digests[name]]
    assert (changed, said["fits"]) == (["environment"], False)


@settings(max_examples=30)
@given(locks)
def test_the_recomputation_of_the_page_holds_for_any_lock(lock: RunLock) -> None:
    said: list[dict[str, Any]] = []

    class Argv:
        argv = ("", "")

    text = write_lock(lock).decode()
    names = {"open": lambda *_, **__: text.splitlines(keepends=True), "print": lambda t: said.append(json.loads(t))}
    # Line by line as a file would give them: at `\n` only.
    names["open"] = lambda *_, **__: [line + "\n" for line in text.split("\n")[:-1]]
    source = script().replace("import hashlib, json, re, sys", "import hashlib, json, re")
    exec(source, {"sys": Argv, **names})

    assert said == [{"id": lock.id, "sections": lock.digests, "fits": True}]


def objects(schema: dict[str, Any], address: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every part of the schema that lists its keys, with its address."""
    if "properties" in schema:
        yield address, schema
        for key, below in schema["properties"].items():
            yield from objects(below, (*address, key))


def document(target: str) -> dict[str, Any]:
    """The lock of the target as any YAML reader sees it."""
    value = parse_block(DATA[target], name="x", limit_bytes=LOCK_LIMIT_BYTES).value
    assert isinstance(value, dict)
    return value


def keys_at(address: tuple[str, ...]) -> set[str]:
    """The keys that a lock of any target has there."""
    found: set[str] = set()
    for target in DATA:
        value: Any = document(target)
        for key in address:
            value = value.get(key, {})
        found |= set(value)
    return found


def target_of(address: tuple[str, ...]) -> str:
    """The target whose lock has the key."""
    if address[:1] == ("data",):
        return "text"
    if {"infra", "network", "storage"} & set(address):
        return "eks"
    return "docker" if "image" in address else "local"


def test_the_keys_of_the_schema_are_those_of_a_lock_with_every_field() -> None:
    assert {a: set(part["properties"]) for a, part in objects(SCHEMA) if a != ("data", "requested")} == {
        a: keys_at(a) for a, _ in objects(SCHEMA) if a != ("data", "requested")
    }
    assert len(list(objects(SCHEMA))) == 35


def line_of(address: tuple[str, ...]) -> int:
    """The index of the line on which the key stands."""
    data = DATA[target_of(address)]
    return parse_block(data, name="x", limit_bytes=LOCK_LIMIT_BYTES).line(".".join(address)) - 1


def without(address: tuple[str, ...]) -> bytes:
    """The lock without one line and what stands deeper below it."""
    rows = DATA[target_of(address)].decode().split("\n")
    start = line_of(address)
    end = start + 1
    while rows[end].startswith("  " * len(address)):
        end += 1
    return "\n".join((*rows[:start], *rows[end:])).encode()


@pytest.mark.parametrize(
    "address", [a for a, part in objects(SCHEMA) if part["additionalProperties"] is False], ids=".".join
)
def test_the_reader_refuses_a_key_that_the_schema_does_not_know(address: tuple[str, ...]) -> None:
    rows = DATA[target_of(address)].decode().split("\n")
    rows.insert(line_of(address) + 1, "  " * len(address) + "surplus: 1")
    damaged = "\n".join(rows).encode()

    with pytest.raises(InputError) as caught:
        read_lock(damaged, name="x")

    assert (caught.value.message, caught.value.field) == (
        "this key is not known here" + ("" if address else " (in section `revision`)"),
        ".".join((*address, "surplus")),
    )


def test_the_reader_asks_for_the_keys_that_the_schema_requires() -> None:
    optional = set()
    for address, part in objects(SCHEMA):
        for key in part["properties"]:
            try:
                read_lock(without((*address, key)), name="x")
            except InputError:
                continue
            optional.add((*address, key))

    may_be_absent = {
        (*a, key)
        for a, part in objects(SCHEMA)
        for key in set(part["properties"]) - set(part["required"])
        # The target asks for some of the others; `packages` stands in both places or in neither.
        if key not in {"environment", "image", "infra", "packages"} or a not in {(), ("sections",)}
        # And the request for the files of these.
        if key not in {"model", "dataset"} or a[:1] != ("data",)
    }
    assert may_be_absent <= optional
    # Written always, and read with a default: verify names the lock as not in its form without them.
    assert {key for *_, key in optional - may_be_absent} == {
        "allow", "claim", "cpus_per_worker", "deterministic", "distributions", "environment", "files",
        "gpus_per_worker", "instruction_set", "limits", "max_failures", "overrides", "secrets", "seed",
        "config",
        # Of an image, and of where it came from.
        "base_digest", "command", "components", "created", "entrypoint", "env", "index_digest", "index_media_type",
        "known_issues", "labels", "twin", "user", "working_folder",
        # Of extra packages.
        "allow_replace", "allow_sdist", "exclude_newer", "index", "install", "left_out", "requirements_file",
        "requires", "yanked",
        # Of the network.
        "on_fallback", "strict", "transport",
        # Of storage: without its only key there is none.
        "path",
        # Of infrastructure.
        "bindings", "plan", "plan_missing", "profile", "providers", "values", "variables",
    }  # fmt: skip


@pytest.mark.parametrize("target", ["local", "docker", "eks", "text"])
def test_a_fresh_lock_is_valid_by_the_schema(target: str) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="lacks jsonschema, which comes with Ray")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    lock = document(target)

    validator.check_schema(SCHEMA)
    assert list(validator.iter_errors(lock)) == []
    assert len(list(validator.iter_errors({**lock, "surplus": 1}))) == 1
    assert len(list(validator.iter_errors({**lock, "id": "sha256:1"}))) == 1


@pytest.mark.parametrize(
    ("target", "own", "other"),
    [("local", "environment", "image"), ("docker", "image", "environment"), ("docker", "image", "infra"),
     ("eks", "infra", "environment")],
)  # fmt: skip
def test_the_schema_wants_of_a_target_its_own_section_and_not_the_other(target: str, own: str, other: str) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="lacks jsonschema, which comes with Ray")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    lock = document(target)
    both = {**document("local"), **document("eks")}

    lacks_own = {name: value for name, value in lock.items() if name != own}
    has_other = {**lock, other: both[other]}
    lists_other = {**lock, "sections": {**lock["sections"], other: lock["id"]}}
    assert [validator.is_valid(value) for value in (lacks_own, has_other, lists_other)] == [False, False, False]


@pytest.mark.parametrize(
    ("target", "own", "other"),
    [("local", "environment", "image"), ("docker", "image", "environment"), ("docker", "image", "infra"),
     ("eks", "infra", "environment")],
)  # fmt: skip
def test_the_reader_wants_of_a_target_its_own_section_and_not_the_other(target: str, own: str, other: str) -> None:
    lock = document(target)
    both = {**document("local"), **document("eks")}

    for damaged in ({name: value for name, value in lock.items() if name != own}, {**lock, other: both[other]}):
        with pytest.raises(InputError) as caught:
            read_lock(write_block(damaged).encode(), name="x")
        assert caught.value.field == (other if other in damaged else own)


def test_the_page_names_every_field_of_the_lock_and_the_record() -> None:
    record = json.loads(write_record(make_record(make_lock())))
    fields = {key for _, part in objects(SCHEMA) for key in part["properties"]} | set(record)

    assert sorted(field for field in fields if f"`{field}`" not in PAGE and f".{field}`" not in PAGE) == []
    assert [word for word in STATUSES if f"`{word}`" not in PAGE] == []
