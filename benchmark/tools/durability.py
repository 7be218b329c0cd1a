#!/usr/bin/env python3
"""Measures what it costs to keep data on disk: the append-only file, snapshots and starts, servers side by side.

    benchmark/tools/durability.py [--parts append,always,snapshot,start,latency] [--rounds 5] [--seconds 2] [--keys 10000000] [--garnet PATH]

append: SET at each depth without a file and with one (everysec). always: SET 1 x 50, syncs of the disk a second, GET beside it.
snapshot: BGSAVE of many small keys and of fewer of 1,000 bytes: time, size, throughput meanwhile, memory on top while every key is
overwritten. start: time until the first reply, from that snapshot, and from an append-only file of SETs.
latency: Resp.benchmark's SET 1 x 50 at 100,000 a second offered, in open loop, alone and beside BGSAVE of many small keys.
In append, always and latency the server has one core and the load (blast.c) the other; snapshots and starts may use both.
The limit of the disk comes first: a program that appends the same bytes and syncs. Needs what compare.py needs.
"""
import argparse, atexit, json, os, re, shutil, signal, socket, statistics, subprocess, tempfile, threading, time
import compare
from server import Client

SMALL, LARGE = 8, 1000          # bytes a value


def options(server, args, folder, append):
    """The command line of a server that keeps its files in a folder. append: no, everysec or always."""
    written = ["--appendonly", "no"] if append == "no" else ["--appendonly", "yes", "--appendfsync", append]
    common = ["--dir", folder, "--save", "", *written, "--enable-debug-command", "local", "--auto-aof-rewrite-percentage", "0"]
    if server == "kv":
        return [args.kv, *common, "--worker-threads", str(args.workers)]
    if server == "redis":
        return ["redis-server", *common]
    return [args.garnet, "--index", "1g", "--no-pubsub", "--no-obj", "--checkpointdir", folder,
            *([] if append == "no" else ["--aof", "--aof-commit-freq", "1000", "--device-type", "RandomAccess"])]


class Running:
    """A server in a folder of its own, until the block or the program ends."""
    all = []

    def __init__(self, name, args, append="no", cpus="0", folder=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.name, self.owned = name, folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="kv-durability-", dir=args.dir)
        self.begun = time.monotonic()
        self.process = subprocess.Popen(["taskset", "-c", cpus, *options(name, args, self.folder, append), "--port", str(self.port)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        atexit.register(self.stop)
        Running.all.append(self)
        while True:
            try:
                with Client(self.port) as client:
                    if client.call("GET", "none")[:1] != b"-":
                        break
            except OSError:
                pass
            if self.process.poll() is not None:
                raise SystemExit(f"{name} ended while it started")
            time.sleep(0.01)
        self.start_seconds = time.monotonic() - self.begun

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def alone(self):
        """Lets this one run, and no other: some use the processor without anything to do."""
        for other in Running.all:
            if other.process.poll() is None:
                other.process.send_signal(signal.SIGCONT if other is self else signal.SIGSTOP)

    def stop(self):
        self.process.kill()
        self.process.wait()
        if self.owned:
            shutil.rmtree(self.folder, ignore_errors=True)

    def info(self, field):
        with Client(self.port) as client:
            return re.search(rf"^{field}:(.*?)\r?$", client.call("INFO", "everything").decode(), re.M)[1]

    def call(self, *words):
        with Client(self.port) as client:
            client.client.settimeout(600)
            return client.call(*words)

    def memory(self):
        """Bytes of the server and of its children that they do not share."""
        pids = [self.process.pid, *map(int, open(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read().split())]
        return sum(map(proportional, pids))


def proportional(pid):
    """Bytes of memory of a process, of what it shares its part; 0 when it has just ended."""
    try:
        return int(re.search(r"^Pss:\s+(\d+)", open(f"/proc/{pid}/smaps_rollup").read(), re.M)[1]) << 10
    except (OSError, TypeError):
        return 0


def flushes(args):
    """Flushes of the disk so far, of all who use it (the 16th figure of /proc/diskstats)."""
    device = os.stat(args.dir).st_dev
    line = next(l.split() for l in open("/proc/diskstats") if (int(l.split()[0]), int(l.split()[1])) == (os.major(device), os.minor(device)))
    return int(line[18])


def disk(args):
    """The limits of the disk: appends of a group with a sync each, and a stream that is written and synced once."""
    path = os.path.join(args.dir, "kv-durability-limit")
    print("| the disk | syncs/s | MB/s |\n|---|---|---|")
    for size, every in ((2_000, 1), (1 << 20, 1), (1 << 20, 512)):
        with open(path, "wb", buffering=0) as file:
            begun, written, count = time.monotonic(), 0, 0
            while time.monotonic() - begun < args.seconds:
                file.write(b"x" * size)
                written += 1
                if written % every == 0:
                    os.fdatasync(file)
                    count += 1
            os.fdatasync(file)
            took = time.monotonic() - begun
        print(f"| appends of {size:,} bytes, a sync for {every} | {count / took:,.0f} | {written * size / took / 1e6:,.0f} |", flush=True)
    os.remove(path)


def rate(args, port, operation, depth, connections, keys=1_000_000, seconds=None, value=SMALL):
    text = compare.blast(args.tools, port, operation, depth, keys, seconds or args.seconds, connections, value)
    found = re.search(r": (\d+) ops/s.* p99.9=([\d.]+)us errors=(\d+)", text)
    if not found or int(found[3]):
        raise SystemExit(f"{operation} on port {port}: {text.strip()}")
    return int(found[1]), float(found[2])


def in_turn(args, names, measure):
    """Medians of the rounds by name; each round measures all, one after the other."""
    rows = {name: [] for name in names}
    for _ in range(args.rounds):
        for name in names:
            rows[name].append(measure(name))
    return {name: statistics.median(rows[name]) for name in names}


def table(title, medians, of):
    print(f"\n### {title}\n| server | median | Kv's is |\n|---|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {median:,.0f} | {medians[of] / max(1, median):.2f}x |", flush=True)


def append(args):
    for depth, connections in ((4096, 2), (16, 50)):
        servers = [(name, how) for name in args.servers for how in ("no", "everysec")]
        running = {f"{name} {how}": Running(name, args, how) for name, how in servers}
        def sets(name, seconds=None):
            running[name].alone()
            return rate(args, running[name].port, "SET", depth, connections, seconds=seconds)[0]

        for name in running:
            sets(name, args.warm)
        medians = in_turn(args, list(running), sets)
        table(f"SET {depth} x {connections}, operations a second", medians, "kv everysec")
        for server in running.values():
            server.stop()


def always(args):
    servers = [name for name in args.servers if name != "garnet"]
    running = {name: Running(name, args, "always") for name in servers}
    plain = Running("kv", args)
    syncs = {name: [] for name in servers}

    def sets(name):
        running[name].alone()
        before = flushes(args)
        ops = rate(args, running[name].port, "SET", 1, 50)[0]
        syncs[name].append((flushes(args) - before) / args.seconds)
        return ops

    def gets(name):
        server = running["kv"] if name == "beside SETs, always" else plain
        server.alone()
        port = server.port
        writer = None
        if name != "alone":
            writer = threading.Thread(target=rate, args=(args, port, "SET", 1, 50), kwargs={"seconds": args.seconds + 1})
            writer.start()
            time.sleep(0.3)
        ops = rate(args, port, "GET", 16, 8)[0]
        if writer:
            writer.join()
        return ops

    for server in (*running.values(), plain):
        server.alone()
        rate(args, server.port, "SET", 1, 50, seconds=args.warm)
        rate(args, server.port, "GET", 16, 8, seconds=args.warm)
    table("SET 1 x 50, always, operations a second", in_turn(args, servers, sets), "kv")
    for name in servers:
        print(f"{name}: {statistics.median(syncs[name]):,.0f} flushes of the disk a second")
    table("GET 16 x 8, operations a second", in_turn(args, ["alone", "beside SETs, no file", "beside SETs, always"], gets),
          "beside SETs, always")
    for server in (*running.values(), plain):
        server.stop()


def save(server):
    """Seconds that BGSAVE takes."""
    begun = time.monotonic()
    server.call("BGSAVE")
    time.sleep(0.05)
    while server.info("rdb_bgsave_in_progress") == "1":
        time.sleep(0.02)
    if server.info("rdb_last_bgsave_status") != "ok":
        raise SystemExit(f"{server.name}: BGSAVE failed")
    return time.monotonic() - begun


def overwrite(args, server, keys, value):
    """Bytes on top while a snapshot is written and every key is written anew; SETs a second meanwhile, and without it."""
    key = b"key:%d"
    def lines(first):
        return b"".join(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key % i), key % i, value, b"y" * value)
                        for i in range(first, min(first + 10_000, keys)))
    done = threading.Event()
    before = server.memory()
    peak = [before]

    def watch():
        while not done.wait(0.05):
            peak[0] = max(peak[0], server.memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    server.call("BGSAVE")
    written = 0
    with Client(server.port) as client:
        for first in range(0, keys, 10_000):
            client.client.sendall(lines(first))
            client.skip(min(10_000, keys - first))
            if server.info("rdb_bgsave_in_progress") == "1":
                written = first + 10_000
    done.set()
    watcher.join()
    return peak[0] - before, written


def snapshot(args):
    for keys, value in ((args.keys, SMALL), (args.keys // 10, LARGE)):
        print(f"\n### BGSAVE of {keys:,} keys of {value} bytes\n| server | seconds | MB | memory on top, MB | keys overwritten meanwhile "
              "| SET 16 x 50 alone, beside it | start, seconds |\n|---|---|---|---|---|---|---|")
        for name in (name for name in args.servers if name != "garnet"):
            with Running(name, args, cpus="0,1") as server:
                server.call("DEBUG", "POPULATE", str(keys), "key", str(value))
                seconds = statistics.median(save(server) for _ in range(3))
                size = os.path.getsize(f"{server.folder}/dump.rdb")
                rate(args, server.port, "SET", 16, 50, 1000)
                alone = rate(args, server.port, "SET", 16, 50, 1000)[0]
                server.call("BGSAVE")
                beside = rate(args, server.port, "SET", 16, 50, 1000, seconds=max(0.3, seconds / 2))[0]
                while server.info("rdb_bgsave_in_progress") == "1":
                    time.sleep(0.1)
                extra, written = overwrite(args, server, keys, value)
                server.process.kill()
                server.process.wait()
                starts = []
                for _ in range(3):
                    with Running(name, args, cpus="0,1", folder=server.folder) as again:
                        starts.append(again.start_seconds)
                print(f"| {name} | {seconds:.2f} | {size / 1e6:,.0f} | {extra / 1e6:,.0f} | {written:,} | {alone:,} {beside:,} "
                      f"({beside / alone:.2f}) | {statistics.median(starts):.2f} |", flush=True)


def start(args):
    print(f"\n### Start from an append-only file of {args.keys:,} SETs\n| server | file, MB | seconds |\n|---|---|---|")
    for name in (name for name in args.servers if name != "garnet"):
        with Running(name, args, "everysec", cpus="0,1") as server:
            compare.blast(args.tools, server.port, "LOAD", 1024, args.keys, 0, 1, SMALL)
            time.sleep(2)
            server.process.kill()
            server.process.wait()
            folder = f"{server.folder}/appendonlydir"
            size = sum(os.path.getsize(f"{folder}/{file}") for file in os.listdir(folder))
            starts = []
            for _ in range(3):
                with Running(name, args, "everysec", cpus="0,1", folder=server.folder) as again:
                    starts.append(again.start_seconds)
                    if again.call("DBSIZE") != b":%d\r\n" % args.keys:
                        raise SystemExit(f"{name} has {again.call('DBSIZE')} keys")
            print(f"| {name} | {size / 1e6:,.0f} | {statistics.median(starts):.2f} |", flush=True)


def figures(report):
    rep = report["cells"][-1]["reps"][-1]
    return [rep["response"][field] / 1000 for field in ("p50", "p99", "p999", "max")] + [rep["ops_s"]]


def latency(args):
    tool = f"{args.tools}/bench/Resp.benchmark"
    subprocess.run(["dotnet", "publish", "-c", "Release", "-v", "q", "--nologo", "-o", os.path.dirname(tool),
                    f"{compare.ROOT}/benchmark/Resp.benchmark"], check=True, stdout=subprocess.DEVNULL)

    def run(server, *more):
        report = f"{args.tools}/report.json"
        subprocess.run(["taskset", "-c", compare.CLIENT_CPU, tool, "run", "--port", str(server.port), "--op", "set", "--value", str(SMALL),
                        "--keys", str(args.keys), "--json", report, "--quiet", *more], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)      # it fails when a server does not keep up
        return json.load(open(report))

    print(f"\n### SET 1 x 50, 100,000 a second, {args.keys:,} keys: medians of p50, p99, p99.9, max in ms, operations a second\n"
          "| server | alone | beside BGSAVE |\n|---|---|---|")
    for name in (name for name in args.servers if name != "garnet"):
        with Running(name, args) as server:
            run(server, "--load", "all", "--conns", "8", "--depth", "512", "--duration", "1s")
            rows = {False: [], True: []}
            for saves in (False, True) * args.rounds:
                if saves:
                    server.call("BGSAVE")
                rows[saves].append(figures(run(server, "--load", "none", "--conns", "50", "--duration", f"{args.seconds:g}s", "--rate", "100k")))
                while server.info("rdb_bgsave_in_progress") == "1":
                    time.sleep(0.1)
            cells = (" ".join(f"{statistics.median(column):,.1f}" for column in zip(*rows[saves])) for saves in (False, True))
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


PARTS = {"append": append, "always": always, "snapshot": snapshot, "start": start, "latency": latency}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--servers", default="kv,redis,garnet")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warm", type=float, default=5, help="seconds of load before the first round")
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="a folder on the disk that is meant")
    parser.add_argument("--garnet", default=shutil.which("garnet-server"))
    parser.add_argument("--kv", help="a kv-server that is built already")
    args = parser.parse_args()
    args.servers = [name for name in args.servers.split(",") if name != "garnet" or args.garnet]
    args.tools = tempfile.mkdtemp(prefix="kv-durability-")
    compare.build(args.tools)
    args.kv = args.kv or compare.publish(args.tools)
    disk(args)
    for part in args.parts.split(","):
        PARTS[part](args)


main()
