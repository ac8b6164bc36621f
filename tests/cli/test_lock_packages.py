"""Extra packages on the command line: locked by the real uv from an index on loopback."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.transcripts import lock_at, without_digests
from tests.conftest import Rdlc, Said
from tests.packages.distributions import build_wheel
from tests.packages.package_index import PackageIndex, Upload, serving_index
from tests.projects import SPEC, make_project
from tests.registry.logged_out import log_out

LOCK = Path("lock/toy.lock.yaml")
WIDGET, GADGET, NEWER = (
    build_wheel("widget", "1.0", "gadget"),
    build_wheel("gadget", "1.5"),
    build_wheel("gadget", "1.6"),
)
ROWS = ("run", "environment", "packages", "cluster", "code", "data", "recipe")
KNOWN = "must be one of `image`, `packages`, `packages:NAME`, `infra`, `data`, `all`"
FORM = '`--allow-replace torchvision="a fix that the image lacks"`'
EXTRAS = f"""\
  gadget 1.5  {GADGET.name}  0.7 KiB
  widget 1.0  {WIDGET.name}  0.7 KiB
"""


class Shop:
    """A project that asks for `widget`, the index, and the command line with stable words."""

    def __init__(self, folder: Path, index: PackageIndex, rdlc: Rdlc) -> None:
        self.folder = make_project(folder)
        self.index = index
        self._rdlc = rdlc
        self.ask_for("[widget]")

    def ask_for(self, requires: str, more: str = "") -> None:
        text = f"{SPEC}packages: {{requires: {requires}, index: '{self.index.url}'{more}}}\n"
        (self.folder / "run.yaml").write_text(text)

    def __call__(self, *arguments: str | Path) -> Said:
        said = self._rdlc(*arguments)
        return Said(code=said.code, out=self._named(said.out), err=said.err)

    def _named(self, text: str) -> str:
        text = re.sub(r"for Python \S+ on \S+ \(environment\)", "for BASE", text)
        return without_digests(text, lock_at(LOCK)) if LOCK.exists() else text


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[Shop]:
    log_out(monkeypatch, tmp_path)
    with serving_index(WIDGET, GADGET) as index:
        made = Shop(tmp_path / "project", index, rdlc)
        monkeypatch.chdir(made.folder)
        yield made


def table(**fates: str) -> str:
    return "".join(f"  {name:<11}  {name.upper()}  {fates.get(name, fates['rest'])}\n" for name in ROWS)


def test_lock_shows_each_extra_with_its_file(shop: Shop) -> None:
    said = shop("lock", "run.yaml")

    assert (said.code, said.out, said.err) == (
        0,
        f"locked  lock/toy.lock.yaml\nid  ID\n{table(rest='new')}packages  2 extras, 1.4 KiB  for BASE\n{EXTRAS}",
        "resolving 1 package\nnext: `rdlc run lock/toy.lock.yaml`\n",
    )


def test_locking_again_asks_the_index_for_nothing(shop: Shop) -> None:
    shop("lock", "run.yaml")
    asked = len(shop.index.asked)
    shop.index.add(NEWER)

    said = shop("lock", "run.yaml", "--check")

    assert (said.code, said.out, said.err) == (
        0,
        f"unchanged  lock/toy.lock.yaml\nid  ID\n{table(rest='same')}packages  2 extras, 1.4 KiB  for BASE\n{EXTRAS}",
        "",
    )
    assert len(shop.index.asked) == asked


def test_an_upgrade_of_one_shows_from_what_to_what(shop: Shop) -> None:
    shop("lock", "run.yaml")
    shop.index.add(NEWER, build_wheel("widget", "2.0"))

    said = shop("lock", "run.yaml", "--upgrade", "packages:Gadget")

    assert said.code == 0
    assert said.out.endswith(f"  widget 1.0  {WIDGET.name}  0.7 KiB\npackages that moved\n  gadget  1.5 -> 1.6\n")


def test_a_file_that_is_added_later_for_the_same_version_is_not_picked(shop: Shop) -> None:
    shop("lock", "run.yaml")
    shop.index.add(build_wheel("gadget", "1.5", tag="py3-none-manylinux_2_17_x86_64"))
    shop.ask_for("[widget, gadget]")

    said = shop("lock", "run.yaml", "--json")

    assert [extra["file"] for extra in said.document["packages"]["extras"]] == [GADGET.name, WIDGET.name]


def test_the_document_tells_the_same(shop: Shop) -> None:
    shop.ask_for("""[widget, 'nothing; python_version < "3"']""")

    packages = shop("lock", "run.yaml", "--json").document["packages"]

    assert (packages["evidence"], packages["yanked"], packages["moves"]) == ("environment", {}, [])
    assert list(packages["left_out"]) == ['nothing; python_version < "3"']
    assert packages["extras"][1] == {
        "name": "widget",
        "version": "1.0",
        "file": WIDGET.name,
        "size": len(WIDGET.data),
        "sha256": f"sha256:{WIDGET.sha256}",
    }


def test_a_base_that_would_be_replaced_is_refused(shop: Shop) -> None:
    shop.ask_for("['click<1']")

    said = shop("lock", "run.yaml")

    assert (said.code, re.sub(r"click [0-9.]+`", "click X`", said.err)) == (
        1,
        (
            "error: packages: `click<1` would replace `click X` of the base\n"
            "hint: ask for what the base has, or say why it may be: `--allow-replace click=REASON`\n"
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--upgrade", "package"),
         f"error: `--upgrade package`: {KNOWN}\nhint: did you mean `packages`?\n"),
        (("--upgrade", "packages:a b"), "error: `a b` is no name of a package\n"),
        (("--upgrade", "image:x"),
         f"error: `--upgrade image:x`: {KNOWN}\nhint: did you mean `image`?\n"),
        (("--allow-replace", "torch"),
         f"error: `--allow-replace torch` must have the form NAME=REASON\nhint: {FORM}\n"),
        (("--allow-replace", "ray=why"),
         "error: `ray` cannot be replaced: Ray leaves itself out of what it installs\n"),
    ],
)  # fmt: skip
def test_an_option_that_does_not_fit_is_bad_input(shop: Shop, arguments: tuple[str, str], message: str) -> None:
    said = shop("lock", "run.yaml", *arguments)

    assert (said.code, said.err) == (2, message)


def test_outdated_lists_newer_and_yanked_extras(shop: Shop) -> None:
    shop("lock", "run.yaml")
    shop.index.replace(Upload(file=WIDGET, yanked="broken"), GADGET, NEWER)

    plain, asked = shop("outdated", LOCK), shop("outdated", LOCK, "--exit-code", "--json")

    assert (plain.code, plain.out, plain.err) == (
        0,
        f"{LOCK}\n  gadget  1.5 -> 1.6  newer\n  widget  1.0  yanked from the index: broken\n",
        "",
    )
    states = {row["name"]: (row["state"], row["newest"]) for row in asked.document["locks"][0]["packages"]}
    assert (asked.code, states) == (1, {"gadget": ("newer", "1.6"), "widget": ("yanked", "")})


def test_verify_online_asks_for_every_locked_file(shop: Shop) -> None:
    shop("lock", "run.yaml")
    shop.index.replace(Upload(file=WIDGET, yanked="broken"), GADGET)

    said = shop("verify", LOCK, "--online")

    assert (said.code, said.out, said.err) == (
        0,
        f"intact  lock  {LOCK}\nlock  ID\nonline  2 locked things were asked for\n",
        f"warning: `{WIDGET.name}` was yanked from the index: broken; it still installs\n",
    )


def test_verify_online_lists_all_that_are_gone_or_changed(shop: Shop) -> None:
    shop("lock", "run.yaml")
    shop.index.replace(build_wheel("gadget", "1.5", files={"gadget.py": b"other"}))

    said = shop("verify", LOCK, "--online")

    gone = f"the index no longer has `{WIDGET.name}`"
    changed = f"the index has other bytes under `{GADGET.name}` than sha256:{GADGET.sha256}"
    assert (said.code, said.out) == (
        1,
        (
            f"invalid  lock  {LOCK}\nlock  ID\n  section packages: {LOCK}: {changed}\n"
            f"  section packages: {LOCK}: {gone}\nonline  2 locked things were asked for\n"
        ),
    )


def test_a_wheelhouse_is_filled_beside_the_lock(shop: Shop) -> None:
    shop.ask_for("[widget]", ", install: wheelhouse")

    said = shop("lock", "run.yaml")

    assert said.err == (
        "resolving 1 package\n2 files put into the wheelhouse `toy.wheels`, which travels with the lock\n"
        "next: `rdlc run lock/toy.lock.yaml`\n"
    )
    held = {path.name: path.read_bytes() for path in Path("lock/toy.wheels").iterdir()}
    assert held == {WIDGET.name: WIDGET.data, GADGET.name: GADGET.data}


def test_a_diff_tells_which_extra_moved(shop: Shop) -> None:
    shop("lock", "run.yaml", "-o", "lock/old.lock.yaml")
    shop.index.add(NEWER)
    shop("lock", "run.yaml", "--upgrade", "packages")

    said = shop("diff", "lock/old.lock.yaml", LOCK)

    assert said.out == (
        "A  lock/old.lock.yaml (lock)\nB  lock/toy.lock.yaml (lock)\n\npackages\n"
        '  changed    package gadget  "1.5" -> "1.6"\n'
    )
