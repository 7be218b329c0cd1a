#!/usr/bin/env python3
"""Measures servers side by side: each cell is run on every server in turn, several rounds, and medians are compared.

    benchmark/tools/compare.py [--cells NAME,...] [--servers NAME,...] [--rounds 5] [--seconds 2] [--garnet PATH]

The server is pinned to one core, the load (blast.c) to the other. `limit` (limit.c) is a server that does no work: what the
machine's TCP allows. cpu is the server process' user and system time an operation. Needs gcc, taskset, redis-server;
garnet-server where --garnet names it. kv-server is published ReadyToRun first (--kv PATH uses another build).
"""
import argparse, os, re, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SERVER_CPU, CLIENT_CPU = "0", "1"
PRIORITY = []       # chrt and its arguments, with --realtime
KEY, VALUE = 8, 8

# name: operation, depth, connections, keys, reply that limit sends [, what is loaded (bytes a value), bytes that the operation speaks of]
CELLS = {
    "get4096x2-1k": ("GET", 4096, 2, 1024, "get8"),
    "set4096x2-1k": ("SET", 4096, 2, 1024, "ok"),
    "get4096x2-16m": ("GET", 4096, 2, 16_000_000, "get8"),
    "set4096x2-16m": ("SET", 4096, 2, 16_000_000, "ok"),
    "get16x50-16m": ("GET", 16, 50, 16_000_000, "get8"),
    "get16x50-1k": ("GET", 16, 50, 1024, "get8"),
    "get1x50": ("GET", 1, 50, 1024, "get8"),
    "set1x50": ("SET", 1, 50, 1024, "ok"),
    "get1x128": ("GET", 1, 128, 1024, "get8"),
    "set1x128": ("SET", 1, 128, 1024, "ok"),
    "get1x1": ("GET", 1, 1, 1024, "get8"),
    "get50x256": ("GET", 50, 256, 1024, "get8"),
    "incr16x50-1k": ("INCR", 16, 50, 1024, "ok"),
    "incr4096x2-1k": ("INCR", 4096, 2, 1024, "ok"),
    # "dense" loads HyperLogLogs of 4,096 elements.
    "pfadd128x50": ("PFADD", 128, 50, 1000, "ok", 0, 16),
    "pfadd128x50-dense": ("PFADD", 128, 50, 1000, "ok", "dense", 16),
    "pfcount128x50-dense": ("PFCOUNT", 128, 50, 1000, "ok", "dense", 16),
    "pfcount2-16x8-dense": ("PFCOUNT2", 16, 8, 1000, "ok", "dense", 16),
    "pfmerge16x8-dense": ("PFMERGE", 16, 8, 1000, "ok", "dense", 16),
    "setbit128x50": ("SETBIT", 128, 50, 1000, "ok", 1024, 1024),
    "getbit128x50": ("GETBIT", 128, 50, 1000, "ok", 1024, 1024),
    "setbit4096x2-1mb": ("SETBIT", 4096, 2, 16, "ok", 1 << 20, 1 << 20),
    "getbit4096x2-1mb": ("GETBIT", 4096, 2, 16, "ok", 1 << 20, 1 << 20),
    "bitcount4x2-1mb": ("BITCOUNT", 4, 2, 16, "ok", 1 << 20, 8),
    "bitop-and4x2-1mb": ("BITOP-AND", 4, 2, 16, "ok", 1 << 20, 8),
    "bitop-or4x2-1mb": ("BITOP-OR", 4, 2, 16, "ok", 1 << 20, 8),
    "bitop-xor4x2-1mb": ("BITOP-XOR", 4, 2, 16, "ok", 1 << 20, 8),
    "bitop-not4x2-1mb": ("BITOP-NOT", 4, 2, 16, "ok", 1 << 20, 8),
}

# Of each collection, at depth 128 and 1: what is measured, and what has filled the keys before.
for _operation, _filler in (("HSET", "HSET"), ("HGET", "HSET"), ("LPUSH", None), ("LPOP", "LPUSH"), ("SADD", "SADD"), ("SISMEMBER", "SADD"),
                            ("ZADD", "ZADD"), ("ZSCORE", "ZADD"), ("XADD", None)):
    CELLS[f"{_operation.lower()}128x50"] = (_operation, 128, 50, 1000, "ok", _filler, 8)
    CELLS[f"{_operation.lower()}1x50"] = (_operation, 1, 50, 1000, "ok", _filler, 8)


def build(tools):
    for name in ("blast", "limit"):
        subprocess.run(["gcc", "-O2", "-march=native", f"{HERE}/{name}.c", "-o", f"{tools}/{name}", "-lpthread"], check=True)


def publish(tools):
    subprocess.run(["dotnet", "publish", "-c", "Release", "-r", "linux-x64", "--self-contained", "false", "-v", "q", "--nologo",
                    "-o", f"{tools}/kv", f"{ROOT}/src/Host"], check=True, stdout=subprocess.DEVNULL)
    return f"{tools}/kv/kv-server"


class Server:
    def __init__(self, name, command, port):
        self.name, self.port = name, port
        self.process = subprocess.Popen([*PRIORITY, "taskset", "-c", SERVER_CPU, *command], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir())
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{name} did not start: {' '.join(command)}")

    def cpu_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.process.pid}/status").read())[1]) / 1024

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def shape(cell):
    return (*CELLS[cell], VALUE, VALUE)[:7] if len(CELLS[cell]) == 5 else CELLS[cell]


def blast(tools, port, operation, depth, keys, seconds, connections, value=VALUE):
    out = subprocess.run([*PRIORITY, "taskset", "-c", CLIENT_CPU, f"{tools}/blast", "127.0.0.1", str(port), operation, "1", str(depth),
                          str(KEY), str(value), str(keys), str(seconds), str(connections)],
                         capture_output=True, text=True, timeout=600)
    return out.stdout + out.stderr


def load(server, args, cell):
    operation, depth, connections, keys, _, what, value = shape(cell)
    if what == "dense":
        load_dense(server.port, keys)
    elif what is None or isinstance(what, str):
        if what:
            blast(args.tools, server.port, what, 128, keys, 3, 50)
    elif operation != "INCR" and what:      # INCR loads nothing: its keys are numbers of its own making
        blast(args.tools, server.port, "LOAD", max(1, min(4096, (32 << 20) // what)), keys, 0, 1, what)


def load_dense(port, keys):
    """HyperLogLogs with too many elements to be sparse; each command is answered before the next."""
    connection = socket.create_connection(("127.0.0.1", port), 60)
    bulk = lambda word: b"$%d\r\n%s\r\n" % (len(word), word)
    for key in range(keys):
        words = [b"PFADD", b"%0*d" % (KEY, key), *(b"%d:%d" % (key % 7, element) for element in range(4096))]
        connection.sendall(b"*%d\r\n" % len(words) + b"".join(map(bulk, words)))
        if connection.recv(16)[:1] != b":":
            raise SystemExit("PFADD failed")
    connection.close()


def warm(server, args, cell):
    """A JIT compiles what is hot: this shape, not only this command, and for some seconds."""
    operation, depth, connections, keys, _, _, value = shape(cell)
    blast(args.tools, server.port, operation, depth, keys, args.warm, connections, value)


def command(name, args, port, reply, cell):
    if name == "limit":
        return [f"{args.tools}/limit", str(port), "1", reply]
    if name in ("kv", "kv-pipelines"):
        return [args.kv, "--port", str(port), "--worker-threads", "1", "--save", ""] + (
            ["--transport", "pipelines"] if name == "kv-pipelines" else [])
    if name == "redis":
        return ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]
    if name == "garnet":
        strings = ["--no-obj"] if shape(cell)[0] in ("GET", "SET", "INCR") else []
        return [args.garnet, "--port", str(port), "--index", "1g", "--no-pubsub", *strings]
    raise SystemExit(f"unknown server {name}")


def measure(server, args, cell):
    operation, depth, connections, keys, _, _, value = shape(cell)
    if operation == "LPOP" and server.name != "limit":
        blast(args.tools, server.port, "LPUSH", 128, keys, 2 * args.seconds, connections)      # what the rounds before have taken
    before = server.cpu_seconds()
    text = blast(args.tools, server.port, operation, depth, keys, args.seconds, connections, value)
    cpu = server.cpu_seconds() - before
    found = re.search(r": (\d+) ops/s\s+p50=([\d.]+)us p99=([\d.]+)us p99.9=([\d.]+)us errors=(\d+) nils=(\d+)", text)
    if not found or int(found[5]):
        print(f"  {server.name} {cell}: {text.strip()}", file=sys.stderr)
        return None
    rate = int(found[1])
    nils = int(found[6])
    if nils and server.name != "limit" and operation == "GET":
        print(f"  {server.name} {cell}: {nils} misses", file=sys.stderr)
    return rate, cpu / (rate * args.seconds) * 1e9, float(found[2]), float(found[3]), float(found[4])


def run_cell(cell, args, port):
    reply = shape(cell)[4]
    servers = []
    try:
        for name in args.servers:
            server = Server(name, command(name, args, port, reply, cell), port)
            servers.append(server)
            port += 1
            if name != "limit":
                load(server, args, cell)
                warm(server, args, cell)
        results = {server.name: [] for server in servers}
        for _ in range(args.rounds):
            for server in servers:
                result = measure(server, args, cell)
                if result:
                    results[server.name].append(result)
        report(cell, servers, results)
    finally:
        for server in servers:
            server.stop()
    return port


def report(cell, servers, results):
    operation, depth, connections, keys = shape(cell)[:4]
    print(f"\n### {cell}: {operation} depth {depth} x {connections} connections, {keys:,} keys")
    print("| server | ops/s median [min..max] | cpu ns an op | p50 us | p99 us | p99.9 us | RSS MB |")
    print("|---|---|---|---|---|---|---|")
    rates = {}
    for server in servers:
        rows = results[server.name]
        if not rows:
            print(f"| {server.name} | n/a | | | | | |")
            continue
        column = lambda i: statistics.median(row[i] for row in rows)
        rates[server.name] = column(0)
        print(f"| {server.name} | {column(0):,.0f} [{min(r[0] for r in rows):,}..{max(r[0] for r in rows):,}] | {column(1):,.0f} "
              f"| {column(2):,.1f} | {column(3):,.1f} | {column(4):,.1f} | {server.rss_mb():,.0f} |")
    if "kv" in rates:
        print("kv: " + ", ".join(f"{rates['kv'] / rate:.2f}x of {name}" for name, rate in rates.items() if name != "kv"))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default=",".join(CELLS))
    parser.add_argument("--servers", default="limit,kv,redis,garnet")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warm", type=float, default=5, help="seconds of load before the first round")
    parser.add_argument("--garnet", default=shutil.which("garnet-server"))
    parser.add_argument("--kv")
    parser.add_argument("--port", type=int, default=17000)
    parser.add_argument("--realtime", action="store_true", help="servers and load at real-time priority, where others use the machine")
    args = parser.parse_args()
    if args.realtime:
        PRIORITY.extend(["chrt", "-r", "5"])
    args.servers = [name for name in args.servers.split(",") if name != "garnet" or args.garnet]
    args.tools = tempfile.mkdtemp(prefix="kv-compare-")
    build(args.tools)
    args.kv = args.kv or publish(args.tools)
    port = args.port
    for cell in args.cells.split(","):
        port = run_cell(cell, args, port)


if __name__ == "__main__":
    main()
