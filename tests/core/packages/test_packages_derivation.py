"""A lock's packages are held against its own request and base: nothing in it is believed."""

from dataclasses import replace

import pytest

from rdlc.core.level import CLAIMS
from rdlc.core.lockfile import RunLock, read_lock, write_lock
from rdlc.core.packages.request import PackagesRequest
from rdlc.core.packages.section import LockedPackage, PackagesSection
from tests.core.lock_samples import extra, packages_lock
from tests.image_samples import image_lock

LOCK = packages_lock()
assert LOCK.sections.packages is not None
SECTION = LOCK.sections.packages
PEFT, TRL = SECTION.extras
UNFIT = "peft-0.17.0-cp312-none-any.whl"
MET = "torch>=2"
MARKED = 'tomli>=2; python_version < "3.11"'


def findings(section: PackagesSection, lock: RunLock = LOCK) -> list[str]:
    data = write_lock(replace(lock, sections=replace(lock.sections, packages=section)))
    found = read_lock(data, name="x.lock.yaml").findings
    assert {finding.section for finding in found} <= {"packages"}
    return [finding.message.removeprefix("`packages.") for finding in found]


def with_extras(*extras: LockedPackage, **request: object) -> PackagesSection:
    requested = replace(SECTION.requested, **request)  # type: ignore[arg-type]  # values of its fields
    return replace(SECTION, requested=requested, extras=tuple(sorted(extras, key=lambda item: item.name)))


def with_left_out(left_out: dict[str, str]) -> PackagesSection:
    return replace(SECTION, left_out=left_out)


def test_a_section_that_follows_from_its_request_has_no_finding() -> None:
    assert findings(SECTION) == []


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (replace(SECTION, python="3.11.8"), ["resolved.python`: must be `3.11.7`, as in `environment`"]),
        (replace(SECTION, platform="x86_64-manylinux_2_28"),
         ["resolved.platform`: must be `x86_64-manylinux_2_36`, as `environment` says of its libc"]),
        (replace(SECTION, platform="aarch64-manylinux_2_36"),
         ["resolved.platform`: is no platform of a base on `x86_64`"]),
        (replace(SECTION, platform="windows"), ["resolved.platform`: is no platform of a base on `x86_64`"]),
        (replace(SECTION, evidence="streamed"),
         ["resolved.evidence`: must be one of `environment`, not `streamed`"]),
    ],
)  # fmt: skip
def test_another_base_than_that_of_the_environment_is_named(section: PackagesSection, expected: list[str]) -> None:
    assert findings(section)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (replace(PEFT, file="evil-0.17.0-py3-none-any.whl"),
         "resolved.extras.peft.file`: `evil-0.17.0-py3-none-any.whl` is no wheel of `peft 0.17.0`"),
        (replace(PEFT, file=UNFIT),
         f"resolved.extras.peft.file`: `{UNFIT}` does not fit `x86_64-manylinux_2_36` and Python 3.11.7"),
        (replace(PEFT, version=" 0.17.0"),
         "resolved.extras.peft.version`: is no version that can be asked for: ` 0.17.0`"),
        (replace(PEFT, version="0.18.0"),
         "resolved.extras.peft.file`: `peft-0.17.0-py3-none-any.whl` is no wheel of `peft 0.18.0`"),
        (replace(PEFT, file="../../peft-0.17.0.tar.gz"),
         "resolved.extras.peft.file`: `../../peft-0.17.0.tar.gz` is no source of `peft 0.17.0`"),
        (replace(PEFT, file="peft-0.17.0.tar.gz"),
         "resolved.extras.peft.file`: `peft-0.17.0.tar.gz` is built from source, which `allow_sdist` does not allow"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_the_one_of_its_package_is_named(held: LockedPackage, expected: str) -> None:
    assert expected in findings(with_extras(held, TRL))


def test_a_name_that_is_not_normalised_is_named() -> None:
    held = replace(PEFT, name="Peft")

    assert "resolved.extras.Peft`: is no normalised name of a package" in findings(with_extras(held, TRL))


def test_an_extra_of_the_training_stack_needs_a_reason() -> None:
    held = extra("nvidia-nccl-cu13", "2.29.7", "nvidia_nccl_cu13-2.29.7-py3-none-any.whl")
    message = "belongs to the stack that training stands on, and `allow_replace` gives no reason for it"

    assert findings(with_extras(PEFT, TRL, held)) == [f"resolved.extras.nvidia-nccl-cu13`: {message}"]
    assert findings(with_extras(PEFT, TRL, held, allow_replace={"nvidia-nccl-cu13": "a fix"})) == []


def test_an_extra_that_the_base_has_needs_a_reason() -> None:
    held = extra("torch", "2.14.0", "torch-2.14.0-py3-none-any.whl")
    section = replace(with_extras(PEFT, TRL, held), left_out={MARKED: SECTION.left_out[MARKED]})

    assert "resolved.extras.torch`: would replace `torch 2.13.0` of the base" in findings(section)
    requested = replace(section.requested, allow_replace={"torch": "a fix"})
    assert findings(replace(section, requested=requested)) == []


def test_ray_is_never_replaced() -> None:
    section = with_extras(PEFT, TRL)
    data = write_lock(replace(LOCK, sections=replace(LOCK.sections, packages=section)))
    damaged = data.replace(b'numpy: "a fix"', b'ray: "a fix"')

    with pytest.raises(Exception, match="`ray` cannot be replaced"):
        read_lock(damaged, name="x")


def test_a_version_that_was_not_asked_for_is_named() -> None:
    held = extra("trl", "0.21.0", "trl-0.21.0.tar.gz")

    assert findings(with_extras(PEFT, held)) == ["resolved.extras.trl`: is not what `trl==0.20.0` asks for"]


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        ({}, [
            f'resolved.left_out["{MARKED}"]`: must be `{SECTION.left_out[MARKED]}`',
            f"resolved.left_out.{MET}`: no extra is for it, and the base does not have it",
        ]),
        ({**SECTION.left_out, MET: "already in the base: torch 2.14.0"},
         [f"resolved.left_out.{MET}`: the base has no `torch 2.14.0`"]),
        ({**SECTION.left_out, MET: "already in the base: torch 1.0"},
         [f"resolved.left_out.{MET}`: no extra is for it, and the base does not have it"]),
        ({**SECTION.left_out, MET: "we do not like it"},
         [f"resolved.left_out.{MET}`: no extra is for it, and the base does not have it"]),
        ({**SECTION.left_out, "peft": "already in the base: peft 0.17.0"},
         ["resolved.left_out.peft`: there is an extra `peft` for it"]),
        ({**SECTION.left_out, "other": "already in the base: other 1"},
         ["resolved.left_out.other`: was not asked for"]),
    ],
)  # fmt: skip
def test_a_reason_that_does_not_hold_is_named(left_out: dict[str, str], expected: list[str]) -> None:
    found = findings(with_left_out(left_out))

    assert [message.replace('["torch>=2"]', ".torch>=2") for message in found] == expected


def test_a_requirement_that_nothing_is_for_is_named() -> None:
    assert findings(with_extras(TRL)) == ["resolved.left_out.peft`: no extra is for it, and the base does not have it"]


def docker_lock(claim: str, evidence: str) -> tuple[RunLock, PackagesSection]:
    lock = image_lock()
    run = replace(lock.sections.run.requested, claim=claim)
    lock = replace(lock, sections=replace(lock.sections, run=replace(lock.sections.run, requested=run)))
    section = PackagesSection(
        requested=PackagesRequest(requires=("peft",)),
        python="3.13.12",
        platform="x86_64-manylinux_2_34",
        constraints_digest=SECTION.constraints_digest,
        evidence=evidence,
        extras=(PEFT,),
    )
    return lock, section


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_not_known_of_an_image_bounds_the_claim(claim: str) -> None:
    lock, section = docker_lock(claim, "config-only")
    message = f"a claim of `{claim}` takes more than `config-only`: what the image holds was not known"

    expected = [] if claim == "infrastructure" else [f"resolved.evidence`: {message}"]
    assert findings(section, lock) == expected


def test_the_base_of_an_image_is_its_platform_and_evidence() -> None:
    lock, section = docker_lock("execution", "streamed")
    levels = "`config-only`, `soci-toc`, `soci-verified`, `streamed`"

    assert findings(section, lock) == []
    assert findings(replace(section, platform="aarch64-manylinux_2_34"), lock) == [
        "resolved.platform`: is no platform of a base on `x86_64`"
    ]
    assert findings(replace(section, evidence="environment"), lock) == [
        f"resolved.evidence`: must be one of {levels}, not `environment`"
    ]


def test_of_an_unknown_image_nothing_is_already_there() -> None:
    lock, section = docker_lock("infrastructure", "config-only")
    requested = replace(section.requested, requires=("numpy", "peft"))
    section = replace(section, requested=requested, left_out={"numpy": "already in the base: numpy 2.4.0"})

    assert findings(section, lock) == ["resolved.left_out.numpy`: with `config-only`, what the base has is not known"]
