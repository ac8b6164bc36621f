"""What the recipe is told of extra packages, and what its installer may see of the shell."""

from dataclasses import replace

from rdlc.core.packages.runtime import installer_environment, packages_config, setup_timeout_s
from rdlc.core.packages.section import PackagesSection
from tests.core.lock_samples import packages_lock


def section() -> PackagesSection:
    found = packages_lock().sections.packages
    assert found is not None
    return found


def test_the_recipe_gets_each_extra_by_its_hash_and_which_ones_are_built() -> None:
    assert packages_config(section(), wheels="/wheels") == {
        "lines": [f"peft==0.17.0 --hash=sha256:{'e' * 64}", f"trl==0.20.0 --hash=sha256:{'e' * 64}"],
        "sdists": ["trl"],
        "setup_timeout_s": 600,
        "wheels": "/wheels",
    }


def test_the_limit_of_the_set_up_grows_with_the_files() -> None:
    held = section()
    large = replace(held, extras=tuple(replace(extra, size=50_000_000) for extra in held.extras))

    assert (setup_timeout_s(held), setup_timeout_s(large)) == (600, 700)


def test_the_installer_sees_how_the_network_is_reached_and_no_other_setting_of_the_shell() -> None:
    shell = {
        "HTTPS_PROXY": "http://proxy",
        "PIP_CERT": "/ca",
        "PIP_TARGET": "/x",
        "PIP_INDEX_URL": "http://y",
        "A": "b",
    }

    reaching = {"HTTPS_PROXY": "http://proxy", "PIP_CERT": "/ca"}
    assert installer_environment(shell, index="https://index.example/simple") == {
        **reaching,
        "PIP_INDEX_URL": "https://index.example/simple",
    }
    assert installer_environment(shell, index="") == reaching
