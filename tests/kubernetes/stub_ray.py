"""A stand-in for Ray's job server and its `ray` command: jobs are functions of the test, in threads."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Driver = Callable[[Path, threading.Event], int]
_RAY = """#!{python}
import json, sys, urllib.error, urllib.request
words = dict(zip(sys.argv, sys.argv[1:]))
body = {{"submission_id": words["--submission-id"], "script": sys.argv[-1]}}
request = urllib.request.Request(words["--address"] + "/submit", data=json.dumps(body).encode())
try:
    print(urllib.request.urlopen(request).read().decode())
except urllib.error.HTTPError as error:
    sys.exit("RuntimeError: " + error.read().decode())
"""


@dataclass(kw_only=True)
class StubRay:
    """The job server; `driver` gets the record's folder in the pod and an event that says stop; gives an exit code.

    `nodes` gives Ray's own node table.
    """

    driver: Driver
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    port: int = 0
    nodes: Callable[[], list[dict[str, Any]]] = list
    is_refusing: bool = False
    stops: dict[str, threading.Event] = field(default_factory=dict)
    threads: list[threading.Thread] = field(default_factory=list)

    def submit(self, name: str, script: str) -> None:
        """Starts a job."""
        self.jobs[name] = {"submission_id": name, "status": "RUNNING", "driver_exit_code": None, "script": script}
        self.stops[name] = threading.Event()
        self.threads.append(threading.Thread(target=self._run, args=(name, Path(script).parent / "record")))
        self.threads[-1].start()

    def end(self) -> None:
        """Stops all jobs, and waits for them."""
        for stop in self.stops.values():
            stop.set()
        for thread in self.threads:
            thread.join(60)

    def _run(self, name: str, record: Path) -> None:
        code = self.driver(record, self.stops[name])
        status = "STOPPED" if self.stops[name].is_set() else "FAILED" if code else "SUCCEEDED"
        self.jobs[name].update(driver_exit_code=code)
        self.jobs[name].update(status=status)


@contextmanager
def ray_serving(ray: StubRay, programs: Path) -> Iterator[StubRay]:
    """Serves it, with a `ray` command and a `python3` in that folder."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/api/v0/nodes"):
                return self._answer(200, {"data": {"result": {"result": ray.nodes()}}})
            job = ray.jobs.get(self.path.rpartition("/")[2])
            return self._answer(200 if job else 404, job or {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.endswith("/stop"):
                ray.stops[self.path.split("/")[-2]].set()
                return self._answer(200, {"stopped": True})
            asked = json.loads(body)
            if ray.is_refusing or asked["submission_id"] in ray.jobs:
                return self._answer(500, {"error": f"Job with submission_id {asked['submission_id']} already exists"})
            ray.submit(asked["submission_id"], asked["script"])
            return self._answer(200, asked)

        def _answer(self, code: int, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    ray.port = server.server_port
    programs.mkdir()
    (programs / "ray").write_text(_RAY.format(python=sys.executable))
    (programs / "ray").chmod(0o755)
    (programs / "python3").symlink_to(sys.executable)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield ray
    finally:
        server.shutdown()
        server.server_close()
        thread.join(30)
