"""The config's parser: whole messages, each with the address of the field."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from fsdp_qwen import train
from fsdp_qwen.config import parse_config, read_config
from fsdp_qwen.failures import ConfigError
from fsdp_qwen.recipe_settings import MODELS
from tests.recipes.conftest import RECIPES, make_config

MISSING = object()

LINE = f"extra-one==1.0 --hash=sha256:{'0' * 64}"
BAD = [
    ("format", 2, "format: must be 1, found 2"),
    ("run_name", "a/b", "run_name: must be 1 to 100 letters, digits, `.`, `_` or `-`, found the text `a/b`"),
    ("seed", "0", "seed: must be a whole number from 0 up, found the text `0`"),
    ("num_workers", True, "num_workers: must be a whole number from 1 up, found true"),
    ("num_workers", 0, "num_workers: must be a whole number from 1 up, found the number 0"),
    ("gpus_per_worker", 2, "gpus_per_worker: must be 0 or 1, found 2"),
    ("max_failures", MISSING, "max_failures: is missing"),
    ("colour", "red", "colour: is not a known field"),
    ("code_digest", "sha1:00", "code_digest: must be `sha256:` and 64 lower-case hex digits, found `sha1:00`"),
    (
        "scratch",
        "/" + "x" * 40,
        (
            "scratch: must be an absolute path of at most 40 bytes, because unix sockets are made below it, "
            f"found `/{'x' * 40}`"
        ),
    ),
    ("determinism.mode", "maybe", "determinism.mode: must be one of `exact`, `fast`, found the text `maybe`"),
    ("determinism.environment", [], "determinism.environment: must be an object, found a list"),
    (
        "determinism.environment.NCCL_ALGO",
        "Tree",
        (
            "determinism.environment.NCCL_ALGO: is `Tree`, exact mode allows only `Ring`, `^NVLS` "
            "(tree sums follow the topology found; NVLS sums differ per call)"
        ),
    ),
    (
        "determinism.environment.MKL_DYNAMIC",
        MISSING,
        (
            "determinism.environment.MKL_DYNAMIC: is missing, exact mode allows only `FALSE` "
            "(MKL may otherwise use fewer threads when the machine is busy)"
        ),
    ),
    (
        "determinism.environment.OMP_NUM_THREADS",
        "2",
        (
            "determinism.environment.OMP_NUM_THREADS: is `2`, exact mode allows only `1` "
            "(sums are split by thread; Ray would set it only if unset)"
        ),
    ),
    (
        "determinism.environment.NCCL_MAX_NCHANNELS",
        "0",
        (
            "determinism.environment.NCCL_MAX_NCHANNELS: is `0`, exact mode allows only `1` to `64` "
            "(channels split the sums)"
        ),
    ),
    ("data.kind", "noise", "data.kind: must be one of `markov`, `random-tokens`, `text`, found the text `noise`"),
    ("data.states", 257, "data.states: must be a whole number from 2 to 256, found the number 257"),
    ("data.path", "x", "data.path: is not a known field"),
    ("recipe", None, "recipe: must be an object, found null"),
    (
        "recipe.learning_rate",
        3e-3,
        "recipe.learning_rate: must be a decimal number as text, above 0, found the number 0.003",
    ),
    (
        "recipe.learning_rate",
        "inf",
        "recipe.learning_rate: must be a decimal number as text, above 0, found the text `inf`",
    ),
    (
        "recipe.adam_betas",
        ["0.9", "1.0"],
        "recipe.adam_betas[1]: must be a decimal number as text, from 0 up and below 1, found the text `1.0`",
    ),
    (
        "recipe.adam_betas",
        "0.9",
        "recipe.adam_betas: must be a list of two decimal numbers as text, found the text `0.9`",
    ),
    ("packages", {}, "packages.wheels: is missing"),
    ("packages", None, "packages: must be an object, found null"),
    (
        "packages",
        {"lines": [], "sdists": [], "setup_timeout_s": 1, "wheels": None},
        "packages.lines: must name at least one package, and none twice",
    ),
    (
        "packages",
        {"lines": [LINE, LINE.replace("1.0", "2.0")], "sdists": [], "setup_timeout_s": 1, "wheels": None},
        "packages.lines: must name at least one package, and none twice",
    ),
    (
        "packages",
        {"lines": [LINE + " --index-url=http://x"], "sdists": [], "setup_timeout_s": 1, "wheels": None},
        (
            "packages.lines[0]: must be `name==version --hash=sha256:` and 64 lower-case hex digits, "
            f"found the text `{LINE[:60]}`"
        ),
    ),
    (
        "packages",
        {"lines": [LINE], "sdists": [":all:"], "setup_timeout_s": 1, "wheels": None},
        "packages.sdists[0]: must be a package's name in lower case, with `-`, found the text `:all:`",
    ),
    (
        "packages",
        {"lines": [LINE], "sdists": "a", "setup_timeout_s": 1, "wheels": None},
        "packages.sdists: must be a list, found the text `a`",
    ),
    (
        "packages",
        {"lines": [LINE], "sdists": [], "setup_timeout_s": 0, "wheels": None},
        "packages.setup_timeout_s: must be a whole number from 1 up, found the number 0",
    ),
    (
        "packages",
        {"lines": [LINE], "sdists": [], "setup_timeout_s": 1, "wheels": "a"},
        "packages.wheels: must be an absolute path, found `a`",
    ),
    (
        "recipe.global_batch_size",
        7,
        "recipe.global_batch_size: 7 rows can't be split evenly over num_workers 2",
    ),
]


def changed(address: str, value: object) -> dict[str, Any]:
    """A good config with one field set or removed."""
    document = copy.deepcopy(make_config())
    *path, name = address.split(".")
    section = document
    for key in path:
        section = section[key]
    if value is MISSING:
        del section[name]
    else:
        section[name] = value
    return document


@pytest.mark.parametrize(("address", "value", "message"), BAD)
def test_a_bad_field_is_refused_with_its_address(address: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config(changed(address, value))

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes at line 1"),
        (b"\xff", "is not JSON in UTF-8"),
        (b"[]", "the config: must be an object, found a list"),
        (b'{"a": 1, "a": 2}', "a: is given more than once in one object"),
        (b'{"a": NaN}', "`NaN` is not a JSON number"),
        (b"[" * 100_000, "is not JSON in UTF-8"),
        (None, "can't be read: No such file or directory"),
    ],
)
def test_an_unreadable_config_ends_with_one_line_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str
) -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_bytes(content)

    code = train.main(["--config", str(path), "--output", str(tmp_path / "output")])

    assert (code, capsys.readouterr().err) == (2, f"error: {path}: {message}\n")
    assert not (tmp_path / "output").exists()


def test_a_run_name_that_was_used_before_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "config.json", tmp_path / "output"
    path.write_text(json.dumps(make_config()))
    (output / "checkpoints/test").mkdir(parents=True)

    code = train.main(["--config", str(path), "--output", str(output)])

    message = f"run_name: `test` is not fresh, `{output}/checkpoints/test` exists"
    assert (code, capsys.readouterr().err) == (2, f"error: {message}\n")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from(["", "determinism", "data", "recipe", "determinism.environment", "recipe.adam_betas"]),
)
def test_no_document_raises_anything_but_a_config_error(value: object, address: str) -> None:
    document = changed(address, value) if address else value

    with pytest.raises(ConfigError):
        parse_config(document)


@pytest.mark.parametrize("model", MODELS)
def test_the_recipes_own_settings_are_accepted(tmp_path: Path, model: str) -> None:
    settings = YAML(typ="safe").load(RECIPES / f"fsdp_qwen/configs/{model}.yaml")
    path = tmp_path / "config.json"
    weights = {"model": {"path": "/weights", "files": [f"{'0' * 64}  config.json"]}} if model == "pretrained" else {}
    path.write_text(json.dumps({**make_config(), "recipe": settings, **weights}))

    config = read_config(path)

    assert config.recipe.model == model
    assert config.recipe.learning_rate == float(settings["learning_rate"])
