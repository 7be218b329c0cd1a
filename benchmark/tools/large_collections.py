#!/usr/bin/env python3
"""Collections of 1,000 to 1,000,000 elements, measured beside other servers: requests a second and the server's processor time, medians of rounds that take turns.

    benchmark/tools/large_collections.py --kv PATH [--garnet PATH] [--rounds 5] [CELL ...]

PATH is a published kv-server. Each server is pinned to the first core, redis-benchmark to the second; all hold the same elements, loaded by
this program. Garnet is asked fewer times, for what takes it a walk over all elements. Where the rates are all alike, they are the client's,
which reads replies of thousands of elements no faster: then the processor time tells the servers apart.
"""
import argparse, os, re, signal, socket, statistics, subprocess, tempfile, time

from server import encode

MILLION = 1_000_000


def elements(name, key, count, *stems, step=1):
    """Requests of a thousand elements each; scattered, so that their order is not that of their arrival."""
    order = [(i * 7919 % count) * step for i in range(count)] if count > 1000 else range(0, count * step, step)
    for first in range(0, count, 1000):
        yield encode([name, key, *(stem % i if b"%" in stem else stem for i in order[first:first + 1000] for stem in stems)])


# What is loaded, under the name of its key.
LOADS = {
    "zbig": lambda: elements(b"ZADD", b"zbig", MILLION, b"%d", b"m:%012d"),
    "lbig": lambda: elements(b"RPUSH", b"lbig", MILLION, b"element:%08d"),
    "sbig": lambda: elements(b"SADD", b"sbig", MILLION, b"member:%08d"),
    "spop": lambda: elements(b"SADD", b"spop", 2 * MILLION, b"member:%08d"),
    "l600": lambda: elements(b"RPUSH", b"l600", 600, b"element:%08d"),
    "h1000": lambda: elements(b"HSET", b"h1000", 1000, b"field:%08d", b"value:%08d"),
    "s1000": lambda: elements(b"SADD", b"s1000", 1000, b"member:%08d"),
    "s100k": lambda: elements(b"SADD", b"s100k", 100_000, b"member:%08d"),
    "s100k2": lambda: elements(b"SADD", b"s100k2", 100_000, b"member:%08d", step=2),
    "z100k": lambda: elements(b"ZADD", b"z100k", 100_000, b"%d", b"member:%08d"),
    "z100k2": lambda: elements(b"ZADD", b"z100k2", 100_000, b"%d", b"member:%08d", step=2),
    "l100k": lambda: elements(b"RPUSH", b"l100k", 100_000, b"%d"),
}

# name: what it needs, depth, requests a round, command; requests for Garnet (0: it is not asked)
CELLS = {
    "zrank-1m": (["zbig"], 16, 400_000, "ZRANK zbig m:__rand_int__", 200),
    "zrange-10-1m": (["zbig"], 16, 400_000, "ZRANGE zbig 500000 500009", 200),
    "zrangebyscore-10-1m": (["zbig"], 16, 200_000, "ZRANGEBYSCORE zbig __rand_int__ 1000000 LIMIT 0 10", 0),
    "lindex-middle-1m": (["lbig"], 16, 100_000, "LINDEX lbig 500000", 2_000),
    "srandmember-1m": (["sbig"], 16, 400_000, "SRANDMEMBER sbig", 200),
    "spop-1m": (["spop"], 16, 200_000, "SPOP spop", 200),
    "lrange-600": (["l600"], 4, 40_000, "LRANGE l600 0 599", 40_000),
    "hgetall-1000": (["h1000"], 4, 20_000, "HGETALL h1000", 20_000),
    "smembers-1000": (["s1000"], 4, 30_000, "SMEMBERS s1000", 30_000),
    "zrangebyscore-1000": (["zbig"], 4, 20_000, "ZRANGEBYSCORE zbig 500000 501000 LIMIT 0 1000", 0),
    "zrangebyscore-1000-random": (["zbig"], 4, 20_000, "ZRANGEBYSCORE zbig __rand_int__ 2000000 LIMIT 0 1000", 0),
    "zunionstore-100k": (["z100k", "z100k2"], 1, 30, "ZUNIONSTORE d 2 z100k z100k2", 0),
    "sinterstore-100k": (["s100k", "s100k2"], 1, 60, "SINTERSTORE d s100k s100k2", 0),
    "sunionstore-100k": (["s100k", "s100k2"], 1, 60, "SUNIONSTORE d s100k s100k2", 0),
    "sort-100k": (["l100k"], 1, 30, "SORT l100k", 0),
    "sort-100k-limit": (["l100k"], 1, 60, "SORT l100k LIMIT 0 10", 0),
}


class Server:
    def __init__(self, name, arguments, port):
        self.name, self.port, self.loaded = name, port, set()
        self.process = subprocess.Popen(["taskset", "-c", "0", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir())
        for _ in range(600):
            try:
                self.client = socket.create_connection(("127.0.0.1", port), 120)
                self.replies = self.client.makefile("rb")
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{name} did not start")

    def load(self, names):
        for name in names:
            if name in self.loaded:
                continue
            self.loaded.add(name)
            for request in LOADS[name]():
                self.client.sendall(request)
                line = self.replies.readline()
                if line[:1] != b":":
                    raise SystemExit(f"{self.name}: {line}")

    def processor_seconds(self):
        """Of all its threads so far."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def measure(server, depth, requests, command):
    """Requests a second, and microseconds of processor for each."""
    before = server.processor_seconds()
    out = subprocess.run(["taskset", "-c", "1", "redis-benchmark", "-p", str(server.port), "-c", str(min(50, requests)), "-P", str(depth),
                          "-n", str(requests), "-r", str(MILLION), *command.split()], capture_output=True, text=True).stdout
    found = re.search(r"throughput summary: ([\d.]+)", out)
    return (float(found[1]), 1e6 * (server.processor_seconds() - before) / requests) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--garnet")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=17600)
    parser.add_argument("cells", nargs="*", default=list(CELLS))
    args = parser.parse_args()
    commands = {"kv": [args.kv, "--worker-threads", "1"], "redis": ["redis-server", "--save", ""]}
    if args.garnet:
        commands["garnet"] = [args.garnet, "--bind", "127.0.0.1", "--memory", "4g"]
    servers = [Server(name, [*arguments, "--port", str(args.port + i)], args.port + i) for i, (name, arguments) in enumerate(commands.items())]
    try:
        print("| cell | command, depth x connections | " + " | ".join(commands) + " | " + " | ".join(f"kv / {name}" for name in commands if name != "kv")
              + " | processor us each: " + ", ".join(commands) + " |")
        print("|---" * (2 + 2 * len(commands)) + "|")
        for cell in args.cells:
            needs, depth, requests, command, for_garnet = CELLS[cell]
            counts = {server.name: for_garnet if server.name == "garnet" else requests for server in servers}
            asked = [server for server in servers if counts[server.name]]
            for server in asked:
                server.load(needs)
                measure(server, depth, max(1, counts[server.name] // 2), command)     # warm
            found = {server.name: [] for server in asked}
            for _ in range(args.rounds):
                for server in asked:
                    found[server.name].append(measure(server, depth, counts[server.name], command))
            medians = {name: [statistics.median(column) for column in zip(*filter(None, rounds))] for name, rounds in found.items()}
            figure = lambda name: f"{medians[name][0]:,.0f}" if medians.get(name) else ""
            ratio = lambda name: f"{medians['kv'][0] / medians[name][0]:.2f}x" if medians.get(name) else ""
            processor = lambda name: f"{medians[name][1]:,.2f}" if medians.get(name) else ""
            print(f"| {cell} | `{command}` {depth} x {min(50, requests)} | " + " | ".join(map(figure, commands)) + " | "
                  + " | ".join(ratio(name) for name in commands if name != "kv") + " | " + ", ".join(filter(None, map(processor, commands))) + " |", flush=True)
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
