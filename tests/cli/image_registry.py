"""`rdlc image` against the registry of the two builds, with stable names in its answers."""

import re

from tests.conftest import Rdlc, Said
from tests.registry.dlc_pair import REPOSITORY, with_names

ISSUE = """\
known issue: NCCL broadcast across nodes hangs for ever (aws-ofi-nccl-1.18.0-broadcast)
  effect  a job over EFA on two or more nodes can stop without an error; DLC Ray Train v1.0.0 is frozen with it
  fix     take an image with aws-ofi-nccl 1.20.0 or newer, as train-ml-cuda-v1.1
  source  aws/deep-learning-containers#6551, aws/deep-learning-containers#6668
"""
SITE = "/opt/venv/lib/python3.13/site-packages"


class Images:
    """`rdlc image` with tags of the repository for references, and stable names in its answers."""

    def __init__(self, address: str, rdlc: Rdlc) -> None:
        self.address = address
        self._rdlc = rdlc

    def __call__(self, *arguments: str) -> Said:
        given = [a if a.startswith("-") else f"{self.address}/{REPOSITORY}:{a}" for a in arguments]
        said = self._rdlc("image", *given)
        out = re.sub(r"[0-9,]+ bytes", "N bytes", with_names(said.out, self.address))
        return Said(code=said.code, out=out, err=with_names(said.err, self.address))
