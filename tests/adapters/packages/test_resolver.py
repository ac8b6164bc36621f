"""Extra packages are resolved by the real uv against a loopback index, and the base stays as it is."""

from dataclasses import replace

import pytest

from rdlc.core.packages.base import Base
from rdlc.core.packages.resolution import IndexFile
from rdlc.errors import RdlcError
from tests.adapters.packages.conftest import Bench
from tests.packages.distributions import BuiltFile, build_sdist, build_wheel
from tests.packages.package_index import PackageIndex, Upload, serving_index
from tests.packages.questions import ask, make_base

BASE = make_base(
    "numpy==2.5.1", ("torch==2.13.0+cu130", "numpy>=1", "nvidia-nccl-cu13==2.29.7"), "nvidia-nccl-cu13==2.29.7"
)
PEFT = build_wheel("peft", "0.2", "torch>=2", "numpy")


def refusal(bench: Bench, index: PackageIndex, *requires: str, base: Base = BASE) -> RdlcError:
    with pytest.raises(RdlcError) as caught:
        bench.resolve(ask(base, *requires), index=index.url)
    return caught.value


def test_only_what_the_base_lacks_comes_out_with_its_files(bench: Bench) -> None:
    older, other = build_wheel("peft", "0.1"), build_wheel("trl", "1.0", "peft", "torch==2.13.0")
    with serving_index(PEFT, older, other, build_wheel("numpy", "3.0"), build_wheel("torch", "2.14.0")) as index:
        pins = bench.resolution(ask(BASE, "trl"), index=index.url).pins
        address = index.url.removesuffix("/simple")

    assert [(pin.name, pin.version, pin.files) for pin in pins] == [
        (wheel.project, wheel.version, (
            IndexFile(
                name=wheel.name, url=f"{address}/files/{wheel.name}", size=len(wheel.data),
                sha256=f"sha256:{wheel.sha256}", yanked=None,
            ),
        ))
        for wheel in (PEFT, other)
    ]  # fmt: skip
    assert bench.warnings == []


def test_what_is_in_the_base_adds_nothing(bench: Bench) -> None:
    with serving_index(build_wheel("torch", "2.14.0")) as index:
        pins = bench.resolve(ask(BASE, "torch>=2"), index=index.url)

    assert pins == []


def test_the_extras_of_a_base_distribution_bring_what_they_need(bench: Bench) -> None:
    base = make_base(("ray==2.58.0", "click>=7", 'uvicorn>=0.1; extra == "serve"'), "click==8.4.2")
    with serving_index(build_wheel("uvicorn", "0.5", "click>=8")) as index:
        pins = bench.resolve(ask(base, "ray[serve]"), index=index.url)

    assert pins == ["uvicorn==0.5"]


def test_a_marker_that_is_false_on_the_base_leaves_a_package_out(bench: Bench) -> None:
    with serving_index(PEFT) as index:
        pins = bench.resolve(ask(BASE, 'absent; python_version < "3.12"', "peft"), index=index.url)

    assert pins == ["peft==0.2"]


def test_files_of_other_platforms_and_pythons_are_not_offered(bench: Bench) -> None:
    wanted = build_wheel("fast", "1.0", tag="cp313-cp313-manylinux_2_34_x86_64")
    others = [
        build_wheel("fast", "1.0", tag=tag)
        for tag in ("cp313-cp313-win_amd64", "cp312-cp312-manylinux_2_34_x86_64", "cp313-cp313-manylinux_2_39_x86_64")
    ]
    with serving_index(wanted, *others, build_sdist("fast", "1.0")) as index:
        (pin,) = bench.resolution(ask(BASE, "fast"), index=index.url).pins

    assert [file.name for file in pin.files] == [wanted.name]


def test_a_conflict_says_who_wants_what_and_what_the_base_has(bench: Bench) -> None:
    old = build_wheel("old", "1.0", "numpy<2")
    with serving_index(old, build_wheel("mid", "1.0", "old"), build_wheel("numpy", "1.9")) as index:
        error = refusal(bench, index, "mid")

    assert error.message == (
        "the extra packages do not fit: all versions of old depend on numpy<2, and the base has numpy 2.5.1;"
        " all versions of mid depend on old and you require mid"
    )


def test_a_requirement_that_the_base_contradicts_is_refused_with_its_local_version(bench: Bench) -> None:
    with serving_index(build_wheel("torch", "2.14.0")) as index:
        error = refusal(bench, index, "torch>=2.14")

    assert error.message == (
        "the extra packages do not fit: you require torch>=2.14, and the base has torch 2.13.0+cu130"
    )


@pytest.mark.parametrize(
    ("wheel", "reason"),
    [
        (
            build_wheel("win", "1.0", tag="cp313-cp313-win_amd64"),
            (
                "win==1.0 has no wheels with a matching platform tag (e.g., `manylinux_2_34_x86_64`) and only win==1.0"
                " is available; you require win; wheels are available for `win` (v1.0) on the following platform:"
                " `win_amd64`"
            ),
        ),
        (
            build_wheel("win", "1.0", python=">=3.99"),
            "win==1.0 requires Python >=3.99 and only win==1.0 is available; you require win",
        ),
        (build_sdist("win", "1.0"), "win==1.0 has no usable wheels and only win==1.0 is available; you require win"),
        (build_wheel("other", "1.0"), "win was not found in the package registry and you require win"),
    ],
)
def test_what_cannot_be_had_for_the_base_is_refused(bench: Bench, wheel: BuiltFile, reason: str) -> None:
    with serving_index(wheel) as index:
        error = refusal(bench, index, "win")

    assert error.message == f"the extra packages do not fit: {reason}"


def test_an_sdist_is_taken_only_where_it_is_allowed_and_no_wheel_fits(bench: Bench) -> None:
    source = build_sdist("source", "1.0", "peft")
    with serving_index(source, PEFT, build_sdist("peft", "0.2")) as index:
        question = ask(BASE, "source", allow_sdist=("peft", "source"))
        pins = bench.resolution(question, index=index.url).pins

    assert [[file.name for file in pin.files] for pin in pins] == [[PEFT.name], [source.name]]
    assert bench.warnings == [
        "`source` has no wheel that fits: its sdist is taken, and its build may run code here, too"
    ]


def test_a_cut_off_leaves_out_what_came_later(bench: Bench) -> None:
    late = Upload(file=build_wheel("peft", "0.3"), uploaded="2026-06-01T00:00:01Z")
    with serving_index(PEFT, late) as index:
        pins = [
            bench.resolve(ask(BASE, "peft", exclude_newer=moment), index=index.url)
            for moment in ("2026-06-01T00:00:00Z", "2026-06-01T00:00:02Z", "")
        ]

    assert pins == [["peft==0.2"], ["peft==0.3"], ["peft==0.3"]]


def test_a_cut_off_is_refused_where_the_index_does_not_tell_when_files_came(bench: Bench) -> None:
    with serving_index(Upload(file=PEFT, uploaded=None)) as index, pytest.raises(RdlcError) as caught:
        bench.resolve(ask(BASE, "peft", exclude_newer="2026-06-01T00:00:00Z"), index=index.url)

    assert caught.value.message == (
        f"the index `{index.url}` does not tell when `peft-0.2-py3-none-any.whl` was uploaded,"
        " so nothing of it can be kept to the cut-off `2026-06-01T00:00:00Z`"
    )
    assert caught.value.hint == "leave `exclude_newer` out, or name an index that tells upload times"


def test_a_cut_off_before_everything_is_told(bench: Bench) -> None:
    with serving_index(PEFT) as index, pytest.raises(RdlcError) as caught:
        bench.resolve(ask(BASE, "peft", exclude_newer="2025-06-01T00:00:00Z"), index=index.url)

    assert caught.value.message == (
        "the extra packages do not fit: there are no versions of peft and you require peft;"
        " only what came before `2025-06-01T00:00:00Z` counts for `peft`"
    )


def test_earlier_pins_stay_unless_they_are_to_move(bench: Bench) -> None:
    new = [build_wheel("peft", "0.3"), build_wheel("trl", "2.0")]
    with serving_index(PEFT, build_wheel("trl", "1.0"), *new) as index:
        preferred = {"peft": "0.2", "trl": "1.0", "gone": "1.0"}
        pins = [
            bench.resolve(ask(BASE, "peft", "trl", preferred=preferred, upgrade=upgrade), index=index.url)
            for upgrade in (frozenset[str](), frozenset({"trl"}), None)
        ]

    assert pins == [["peft==0.2", "trl==1.0"], ["peft==0.2", "trl==2.0"], ["peft==0.3", "trl==2.0"]]


def test_moving_a_pin_asks_the_index_again(bench: Bench) -> None:
    with serving_index(PEFT) as index:
        index.max_age_s = 3600
        bench.resolve(ask(BASE, "peft"), index=index.url)
        index.add(build_wheel("peft", "0.3"))
        question = ask(BASE, "peft", preferred={"peft": "0.2"}, upgrade=frozenset({"peft"}))
        pins = bench.resolve(question, index=index.url)

    assert pins == ["peft==0.3"]


def test_a_distribution_that_may_be_replaced_comes_out(bench: Bench) -> None:
    with serving_index(build_wheel("numpy", "2.6"), build_wheel("numpy", "3.0")) as index:
        question = ask(BASE, "numpy>2.5.1,<3", "torch", replace=("numpy",))
        pins = bench.resolve(question, index=index.url)

    assert (pins, bench.warnings) == (["numpy==2.6"], [])


def test_a_replacement_that_the_base_does_not_ask_for_is_told(bench: Bench) -> None:
    with serving_index(build_wheel("nvidia-nccl-cu13", "2.30")) as index:
        question = ask(BASE, "nvidia-nccl-cu13>2.29.7", "torch", replace=("nvidia-nccl-cu13",))
        pins = bench.resolve(question, index=index.url)

    assert pins == ["nvidia-nccl-cu13==2.30"]
    assert bench.warnings == [
        "what replaces a distribution of the base is not what other distributions of the base ask for"
    ]


def test_of_an_unknown_base_only_the_requirements_themselves_are_resolved(bench: Bench) -> None:
    with serving_index(PEFT) as index:
        pins = bench.resolve(ask(make_base(evidence="config-only"), "peft", is_deep=False), index=index.url)

    assert pins == ["peft==0.2"]


def test_a_version_that_cannot_be_compared_is_told_and_not_held(bench: Bench) -> None:
    base = make_base("odd==banana", "numpy==2.5.1", "../up==1.0")
    with serving_index(PEFT, build_wheel("odd", "1.0"), build_wheel("wants", "1.0", "odd")) as index:
        pins = bench.resolve(ask(base, "wants"), index=index.url)

    assert pins == ["odd==1.0", "wants==1.0"]
    assert bench.warnings == [
        "`../up` of the base has the version `1.0`, which nothing can be held against",
        "`odd` of the base has the version `banana`, which nothing can be held against",
    ]


@pytest.mark.parametrize("python", ["", "3", "--offline", "3.13; x"])
def test_a_base_without_a_usable_python_is_refused(bench: Bench, python: str) -> None:
    base = replace(BASE, python=python)
    with pytest.raises(RdlcError) as caught:
        bench.resolve(ask(base, "peft"), index="http://127.0.0.1:1/simple")

    assert caught.value.message == f"the base's Python has no version that can be used: `{python}`"
