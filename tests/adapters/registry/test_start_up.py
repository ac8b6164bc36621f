"""What a resolve loads: most of its time is that of imports."""

import subprocess
import sys

PROGRAM = """
import sys
from rdlc.adapters.registry.client import Registry
from rdlc.core.image.reference import parse_reference
with Registry(warn=print) as registry:
    try:
        registry.resolve(parse_reference("127.0.0.1:9/ray:v1"))
    except Exception as error:
        print(type(error).__name__)
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def test_an_anonymous_resolve_over_plain_http_loads_nothing_heavy() -> None:
    done = subprocess.run((sys.executable, "-c", PROGRAM), capture_output=True, text=True, timeout=120, check=True)

    outcome, loaded = done.stdout.splitlines()
    heavy = {"boto3", "botocore", "click", "docker", "requests", "rich", "ruamel", "subprocess", "tarfile"}
    assert (outcome, heavy & set(loaded.split())) == ("OutsideError", set())
