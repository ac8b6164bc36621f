"""Stands in for rdlc in tests that kill it: starts the given job and follows it."""

import sys

from rdlc.adapters.ray.job import start_job
from tests.adapters.ray.trees import from_argument

if __name__ == "__main__":
    with start_job(from_argument(sys.argv[1])) as running:
        while running.wait(timeout_s=0.2) is None:
            pass
