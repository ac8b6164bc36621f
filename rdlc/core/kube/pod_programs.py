"""Programs that a pod's own Python runs for rdlc: what leaves the pod is what they print, and no more.

They only read. Ray's job record holds the environment of a job in clear, so what is not needed stays.
"""

# Ray's node table and its jobs, from the head's own API. A job's entry point and environment stay behind.
# The argument is how many nodes to wait for, for a while: a pod can be ready before Ray has counted it.
RAY_PROGRAM = """
import json, os, sys, time, urllib.request

# Ray's own name for it; the port of the pod is what KubeRay leaves.
server = os.environ.get("RAY_API_SERVER_ADDRESS") or "http://127.0.0.1:8265"

def ask(path):
    request = urllib.request.Request(server.rstrip("/") + path)
    if os.environ.get("RAY_AUTH_TOKEN"):
        request.add_header("Authorization", "Bearer " + os.environ["RAY_AUTH_TOKEN"])
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)

def nodes_of(due):
    deadline = time.monotonic() + (60 if due else 10)
    while True:
        late = time.monotonic() > deadline
        try:
            rows = ask("/api/v0/nodes?detail=1&limit=10000")["data"]["result"]["result"]
            if late or sum(row.get("state") == "ALIVE" for row in rows) >= due:
                return rows
        except OSError as error:
            if late:
                sys.exit("Ray's own API does not answer: %s" % error)
        time.sleep(0.5)

rows = nodes_of(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
keys = ("node_id", "node_ip", "state", "is_head_node")
nodes = [{**{key: row.get(key) for key in keys}, "gpus": str((row.get("resources_total") or {}).get("GPU", ""))}
         for row in rows]
try:
    found = ask("/api/jobs/")
    keys = ("job_id", "submission_id", "status", "type", "start_time", "end_time")
    jobs = [{key: None if job.get(key) is None else str(job[key]) for key in keys} for job in found]
except (OSError, ValueError):
    jobs = None
print(json.dumps({"nodes": nodes, "jobs": jobs}))
"""

# Each file below Ray's session folder or named by NCCL_DEBUG_FILE, with its lines that speak of NCCL or gloo.
# The arguments are the id of the job whose workers' logs count, and the one it was submitted with; empty is any.
# A worker's log says its job in a line of its own: started before its job, it has none in its file's name.
LOGS_PROGRAM = """
import glob, hashlib, json, os, re, sys

job, submission = (*sys.argv[1:], "", "")[:2]
speaks = re.compile(rb"NCCL|(?i:gloo)")
worker = re.compile(r"worker-[0-9a-f]+-([0-9a-f]{8})-([0-9]+)[.](?:out|err)")
said = re.compile(rb"^:job_id:([0-9a-f]{8})$", re.MULTILINE)
# What Ray forwards to a driver stands in the workers' own logs.
forwarded = re.compile(rb"(?:\x1b\\[[0-9;]*m)?[(][^()]{0,200}pid=[0-9]+")
tmp = os.path.join(os.environ.get("RAY_TMPDIR") or "/tmp", "ray")
out = sys.stdout.buffer

def debug_files():
    yield os.environ.get("NCCL_DEBUG_FILE", "")
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                for item in file.read(1 << 20).split(b"\\0"):
                    if item.startswith(b"NCCL_DEBUG_FILE="):
                        yield os.fsdecode(item[16:])
        except OSError:
            pass
    yield "/tmp/nccl.%h.%p.log"

def session_files():
    top = os.path.realpath(os.path.join(tmp, "session_latest"))
    for folder, _, names in os.walk(os.path.join(top, "logs")):
        for name in sorted(names):
            if name.endswith((".out", ".err", ".log")):
                yield os.path.join(folder, name)

def job_of(path, found):
    try:
        with open(path, "rb") as file:
            line = said.search(file.read(4096))
    except OSError:
        line = None
    return line[1].decode() if line else found[1].replace("ffffffff", "")

def sort_out(paths):
    "The paths that are of no other job, and the processes of other jobs."
    ours, pids, foreign = [], set(), set()
    for path in paths:
        name = os.path.basename(path)
        found = worker.fullmatch(name)
        of = job_of(path, found) if found else ""
        if found:
            (foreign if job and of not in ("", job) else pids).add(found[2])
        is_driver = submission and name.startswith("job-driver-") and name != "job-driver-%s.log" % submission
        if not is_driver and not (job and of not in ("", job)):
            ours.append(path)
    return ours, foreign - pids

def tell(kind, **fields):
    out.write(kind + json.dumps(fields).encode() + b"\\n")

def read(path):
    digest, lines, kept = hashlib.sha256(), 0, 0
    is_driver = os.path.basename(path).startswith("job-driver-")
    with open(path, "rb") as file:
        tell(b"F", path=path)
        whole = True
        for part in iter(lambda: file.readline(4096), b""):
            digest.update(part)
            starts, whole = whole, part.endswith(b"\\n")
            lines += starts
            if starts and speaks.search(part) and not (is_driver and forwarded.match(part)):
                kept += 1
                out.write(b"L" + part.rstrip(b"\\r\\n").replace(b"\\0", b"") + b"\\n")
        tell(b"E", lines=lines, kept=kept, sha256=digest.hexdigest())

session = list(session_files())
ours, foreign = sort_out(session)
patterns = dict.fromkeys(re.sub("%[hp]", "*", re.sub(r"[*?[]", "?", name)) for name in debug_files() if name)
named = sorted({path for pattern in patterns for path in glob.glob(pattern)})
left = len(session) - len(ours)
for path in dict.fromkeys(ours + named):
    if path in named and foreign & set(re.findall("[0-9]+", os.path.basename(path))):
        left += 1
    elif os.path.isfile(path) and not os.path.islink(path):
        try:
            read(path)
        except OSError as error:
            tell(b"X", path=path, why=str(error.strerror))
tell(b"Z", left_out=left)
out.flush()
"""
