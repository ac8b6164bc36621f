"""Forms that the root must not have: what provider 6 takes no more, and what would make two applies differ."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "terraform"
# Each with a line that it is there to find.
FORBIDDEN = {
    r"^\s*vpc\s*=\s*true": "  vpc = true",
    r"^\s*resolve_conflicts\s*=": '  resolve_conflicts = "OVERWRITE"',
    r"^\s*endpoints\s*\{": "  endpoints {",
    r"^\s*elastic_(gpu_specifications|inference_accelerator)\s*\{": "  elastic_gpu_specifications {",
    r"\baws_region\b": "  region = data.aws_region.current.name",
    r"\baws_s3_bucket\.\w+(\[\d+\])?\.region\b": "  value = aws_s3_bucket.main[0].region",
    r"^\s*thumbprint_list\s*=": "  thumbprint_list = []",
    r"^\s*backend\s+\"": '  backend "s3" {',
    r"^\s*ignore_changes\s*=": "  ignore_changes = [scaling_config]",
    r"\b(timestamp|plantimestamp|uuid|bcrypt)\(": "  name = uuid()",
    r"^\s*provisioner\s+\"": '  provisioner "local-exec" {',
}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.tf")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_file_has_a_form_that_is_forbidden(path: Path) -> None:
    lines = [line.partition("#")[0] for line in path.read_text(encoding="ascii").splitlines()]

    assert [line for line in lines for form in FORBIDDEN if re.search(form, line)] == []


@pytest.mark.parametrize(("form", "line"), FORBIDDEN.items(), ids=str)
def test_a_forbidden_form_would_be_found(form: str, line: str) -> None:
    assert re.search(form, line)


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.tf")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_region_is_set_in_the_provider_alone(path: Path) -> None:
    # Provider 5 refuses the argument, and provider 6 would take it as another place for one resource.
    text = path.read_text(encoding="ascii")
    resources = re.findall(r'^resource "[^"]+" "[^"]+" \{$.*?^\}$', text, re.MULTILINE | re.DOTALL)

    assert [resource for resource in resources if re.search(r"^  region\s*=", resource, re.MULTILINE)] == []


def test_only_the_aws_provider_is_needed() -> None:
    found = {
        source
        for path in ROOT.rglob("*.tf")
        for source in re.findall(r'source\s*=\s*"(\w+/\w+)"', path.read_text(encoding="ascii"))
    }

    assert found == {"hashicorp/aws"}
