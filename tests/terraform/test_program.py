"""Where the tests look for Terraform's providers: where its own settings point."""

from pathlib import Path

from tests.terraform.program import configured_folders

SETTINGS = """
plugin_cache_dir = "/cache"
provider_installation {
  # path = "/old"
  filesystem_mirror {
    path    = "/mirror"
    include = ["*/*/*"]
  }
}
"""


def test_mirrors_and_cache_of_the_named_file_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_text(SETTINGS, encoding="utf-8")

    found = list(configured_folders({"TF_CLI_CONFIG_FILE": str(path), "HOME": "/nowhere"}))

    assert found == [Path("/cache"), Path("/mirror")]


def test_without_a_name_the_file_in_the_home_counts(tmp_path: Path) -> None:
    (tmp_path / ".terraformrc").write_text(SETTINGS, encoding="utf-8")

    assert list(configured_folders({"HOME": str(tmp_path)})) == [Path("/cache"), Path("/mirror")]


def test_a_file_that_is_not_there_names_nothing(tmp_path: Path) -> None:
    assert list(configured_folders({"TF_CLI_CONFIG_FILE": str(tmp_path / "absent")})) == []
