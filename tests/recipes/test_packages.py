"""Extra packages: what Ray is told, what is said when they cannot be had, and a real Ray that installs them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp_qwen import train
from fsdp_qwen.config import Packages
from fsdp_qwen.distributions import read_distributions
from fsdp_qwen.package_failures import describe_failure
from fsdp_qwen.packages import light_environment, read_report, runtime_environment
from tests.packages.distributions import BuiltFile, build_wheel
from tests.packages.package_index import Upload, serving_index
from tests.recipes.conftest import RECIPES, Run, make_config, start_driver, wait_for

LOCKED, FOUND = "0" * 64, "1" * 64
LINE = f"extra-one==1.0 --hash=sha256:{LOCKED}"
PACKAGES = Packages(lines=(LINE,), sdists=(), setup_timeout_s=90, wheels=None)
FOLDER = Packages(lines=(LINE,), sdists=("extra-one",), setup_timeout_s=90, wheels=Path("/wheels"))
# What pip prints, as Ray hands it on.
CHANGED = f"""\
Last 50 lines of stdout:
    Looking in indexes: http://user:****@127.0.0.1:1/simple/
    ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. Someone may have tampered with them.
        extra-one==1.0 from %s (from -r /tmp/r/requirements.txt (line 1)):
            Expected sha256 {LOCKED}
                 Got        {FOUND}
"""
BROKEN = """\
    WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError("host=: refused")': /simple/x/
    ERROR: Could not find a version that satisfies the requirement extra-one==1.0 (from versions: none)
    ERROR: No matching distribution found for extra-one==1.0
"""
MISSING = """\
    ERROR: Could not find a version that satisfies the requirement extra-one==1.0 (from versions: 1.1, 2.0)
    ERROR: No matching distribution found for extra-one==1.0
"""
PIP = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "--no-input",
       "--retries", "2", "--report", "report.json")  # fmt: skip


LOGIN = ("user", "a-word-that-nobody-writes")


def assert_secret_is_nowhere(output: Path) -> None:
    files = [path for path in output.rglob("*") if path.is_file()]
    assert [path for path in files if LOGIN[1].encode() in path.read_bytes()] == []


def wanted(*files: BuiltFile, **changes: object) -> dict[str, Any]:
    lines = [f"{file.project}=={file.version} --hash=sha256:{file.sha256}" for file in files]
    return {"lines": lines, "sdists": [], "setup_timeout_s": 300, "wheels": None, **changes}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a path short enough for Ray's sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fsdp-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_ray_is_told_to_install_these_files_without_resolving_anything() -> None:
    assert runtime_environment(None) == {}
    assert runtime_environment(PACKAGES) == {
        "pip": {"packages": [LINE], "pip_install_options": list(PIP)},
        "config": {"setup_timeout_seconds": 90},
    }


def test_a_wheelhouse_asks_no_index_and_a_build_takes_nothing_that_was_not_locked() -> None:
    environment: Any = runtime_environment(FOLDER)

    assert environment["pip"]["pip_install_options"] == [
        *PIP,
        *("--no-binary", "extra-one", "--no-build-isolation"),
        *("--no-index", "--find-links", "/wheels"),
    ]


@pytest.mark.parametrize(
    ("text", "packages", "message"),
    [
        (
            CHANGED % "http://user:word@127.0.0.1:1/files/extra_one-1.0-py3-none-any.whl#sha256=2",
            PACKAGES,
            (
                f"package `extra-one`: the lock has sha256:{LOCKED} for `extra_one-1.0-py3-none-any.whl`, "
                f"and the index gave sha256:{FOUND}: it was changed after it was locked"
            ),
        ),
        (
            CHANGED % "file:///wheels/extra_one-1.0-py3-none-any.whl",
            FOLDER,
            (
                f"package `extra-one`: the lock has sha256:{LOCKED} for `extra_one-1.0-py3-none-any.whl`, "
                f"and the wheelhouse gave sha256:{FOUND}: it was changed after it was locked"
            ),
        ),
        (
            BROKEN,
            PACKAGES,
            'package `extra-one` 1.0: the index cannot be reached: NewConnectionError("host=: refused")',
        ),
        (
            MISSING,
            PACKAGES,
            ("package `extra-one` 1.0: the index does not have it for this Python and platform (there: 1.1, 2.0)"),
        ),
        (
            "[Node 127.0.0.1] Failed to install runtime_env within the timeout of 90 seconds. Consider",
            PACKAGES,
            "packages: not installed within 90 s, the limit for them",
        ),
        (
            "/tmp/r/bin/python: No module named pip",
            PACKAGES,
            "packages: the Python that Ray runs in has no pip to install them with",
        ),
        (
            "    ERROR: HTTP error 403 for https://u:p@h/simple/\n\n",
            PACKAGES,
            "packages: HTTP error 403 for https://h/simple/",
        ),
        ("one\ntwo\x1b[31m\n", PACKAGES, "packages: two [31m"),
        ("", PACKAGES, "packages: no reason was given"),
    ],
)
def test_what_ray_and_pip_say_becomes_one_line(text: str, packages: Packages, message: str) -> None:
    assert describe_failure(text, packages) == message


@given(st.text() | st.lists(st.sampled_from([*CHANGED.splitlines(), *MISSING.splitlines(), "\x1b"])).map("\n".join))
def test_any_text_becomes_one_printable_line(text: str) -> None:
    line = describe_failure(text, PACKAGES)

    assert line.isprintable()
    assert len(line) < 1000


def test_the_report_of_pip_is_read_by_normalised_name(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    url = "https://h/f/Extra_One-1.0%2Bcu130-py3-none-any.whl"
    item = {
        "download_info": {"url": url, "archive_info": {"hashes": {"sha256": FOUND}}},
        "is_yanked": False,
        "metadata": {"name": "Extra_One", "version": "1.0+cu130"},
    }
    path.write_text(json.dumps({"install": [item]}))

    assert read_report(path) == {
        "extra-one": {
            "version": "1.0+cu130",
            "file": "Extra_One-1.0+cu130-py3-none-any.whl",
            "sha256": f"sha256:{FOUND}",
            "is_yanked": False,
        }
    }
    assert read_report(tmp_path / "none.json") is None


def test_the_light_environment_has_what_this_python_has_and_no_settings_of_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/elsewhere/pip.conf")
    monkeypatch.setenv("RUNTIME_ENV_RETRY_TIMES", "3")
    python = sys.executable
    script = "import json; from fsdp_qwen.distributions import read_distributions as r; print(json.dumps(r()))"

    with light_environment(tmp_path):
        light = sys.executable
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        clean = {"PYTHONPATH": str(RECIPES)}
        done = subprocess.run(
            (light, "-P", "-c", script), env=clean, capture_output=True, text=True, check=True, timeout=120
        )

    assert (light, sys.executable) == (str(tmp_path / "base/bin/python"), python)
    kept = {"PIP_INDEX_URL": "https://index.example/simple", "PIP_CONFIG_FILE": "/dev/null"}
    assert {name: pip[name] for name in pip if name not in {"PIP_CERT", "PIP_DEFAULT_TIMEOUT"}} == kept
    assert os.environ["RUNTIME_ENV_RETRY_TIMES"] == "1"
    assert json.loads(done.stdout) == read_distributions()
    # Its own files are few, for they are copied on every node.
    assert sum(path.lstat().st_size for path in (tmp_path / "base").rglob("*")) < 1 << 20


@pytest.mark.parametrize("launcher", ["processes", "torchrun"])
def test_a_launcher_that_installs_nothing_refuses_a_run_with_packages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], launcher: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(make_config(packages=wanted(build_wheel("extra-one", "1.0")))))

    code = train.main(["--config", str(path), "--output", str(tmp_path / "output"), "--launcher", launcher])

    message = f"error: packages: only `--launcher ray` installs them, not `{launcher}`\n"
    assert (code, capsys.readouterr().err) == (2, message)


def run_with(folder: Path, scratch: Path, packages: Mapping[str, Any], *, index: str) -> Run:
    config = make_config(recipe={"steps": 2}, scratch=str(scratch), packages=dict(packages))
    # A setting of this machine that must not count: nothing is there.
    address = index.replace("://", f"://{LOGIN[0]}:{LOGIN[1]}@")
    environment = {"PIP_INDEX_URL": address, "PIP_FIND_LINKS": "/nowhere", "PIP_CONSTRAINT": "/nowhere/at/all.txt"}
    return wait_for(start_driver(folder, config, environment=environment), folder / "output")


@pytest.mark.late
@pytest.mark.slow
def test_workers_get_the_locked_file_on_top_of_what_this_python_has(tmp_path: Path, scratch: Path) -> None:
    wheel = build_wheel("extra-one", "1.0")
    later = build_wheel("extra-one", "1.0", tag="py3-none-linux_x86_64", files={"extra_one.py": b"version = 'later'\n"})
    # A newer version of what is here already, as a package that is replaced on purpose.
    replaced = build_wheel("annotated-doc", "99.0")
    with serving_index(Upload(file=wheel, yanked="has a flaw"), later, replaced, login=LOGIN) as index:
        ended = run_with(tmp_path, scratch, wanted(wheel, replaced), index=index.url)

    assert (ended.exit_code, ended.stderr) == (0, "")
    before = read_distributions()
    for rank in (0, 1):
        assert ended.worker(rank)["distributions"] == {**before, "extra-one": "1.0", "annotated-doc": "99.0"}
    assert [phase for phase, _ in ended.phases][:3] == ["starting-ray", "installing-packages", "starting-workers"]
    node = json.loads((ended.output / "packages/0.json").read_text())
    assert node["installed"]["extra-one"] == {
        "version": "1.0",
        "file": wheel.name,
        "sha256": f"sha256:{wheel.sha256}",
        "is_yanked": True,
    }
    assert node["installed"]["annotated-doc"]["is_yanked"] is False
    assert node["distributions"] == ended.worker(0)["distributions"]
    assert node["seconds"] > 0
    # Measured, and small: this Python's own packages were not copied.
    assert 0 < node["bytes"] < 10 << 20
    assert list(scratch.iterdir()) == []
    assert_secret_is_nowhere(ended.output)


@pytest.mark.slow
def test_a_file_that_was_changed_after_locking_ends_the_run_before_training(tmp_path: Path, scratch: Path) -> None:
    locked = build_wheel("extra-one", "1.0")
    changed = build_wheel("extra-one", "1.0", files={"extra_one.py": b"version = 'changed'\n"})
    with serving_index(changed, login=LOGIN) as index:
        ended = run_with(tmp_path, scratch, wanted(locked), index=index.url)

    message = (
        f"package `extra-one`: the lock has sha256:{locked.sha256} for `{locked.name}`, "
        f"and the index gave sha256:{changed.sha256}: it was changed after it was locked"
    )
    assert (ended.exit_code, ended.stderr) == (1, f"error: {message}\n")
    assert ended.result["error"] == {"message": message, "rank": None, "field": "packages"}
    assert ended.phases == [("starting-ray", 1), ("installing-packages", 1)]
    # One try: nothing is asked for twice.
    assert "/files/" + locked.name in index.asked
    assert index.asked.count("/simple/extra-one/") <= 2, "once without and once with the login"
    assert list(scratch.iterdir()) == []
    assert_secret_is_nowhere(ended.output)
