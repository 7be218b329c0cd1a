#!/usr/bin/env python3
"""What the collector of the managed heap does beside millions of elements in collections.

    benchmark/tools/collector.py --kv PATH [--elements 10000000] [--seconds 60]

PATH is a published kv-server. A hash, a set, a list and a sorted set get a quarter of --elements each, ten clients for each of some
operations then stay connected for --seconds and work on 1,000 collections of each type (blast.c, depth 16). Printed is what INFO tells: how many
collections there were, how many of them of everything, and how long all of them stopped the process.
"""
import argparse, os, re, subprocess, tempfile

from server import Server

# Keys are numbers of so many digits: each type has keys of its own.
OPERATIONS = (("HSET", 8), ("HGET", 8), ("SADD", 9), ("SISMEMBER", 9), ("ZADD", 10), ("ZSCORE", 10), ("LPUSH", 11), ("LPOP", 11), ("XADD", 12),
              ("PFADD", 13))
FIGURES = ("kv_gc_collections", "kv_gc_full_collections", "kv_gc_pause_ms")
FILLS = {"HSET": ("f%d", "v%d"), "SADD": ("m%d",), "RPUSH": ("e%d",), "ZADD": ("%d", "m%d")}


def figures(server):
    info = server.call("INFO", "everything").decode()
    return [int(re.search(rf"{name}:(\d+)", info)[1]) for name in FIGURES]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--elements", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--port", type=int, default=7395)
    args = parser.parse_args()
    tools = tempfile.mkdtemp(prefix="kv-collector-")
    subprocess.run(["gcc", "-O2", f"{os.path.dirname(os.path.abspath(__file__))}/blast.c", "-o", f"{tools}/blast", "-lpthread"], check=True)
    with Server(["taskset", "-c", "0", args.kv, "--worker-threads", "1"], args.port) as server:
        for command, stems in FILLS.items():
            for first in range(0, args.elements // len(FILLS), 1000):
                server.call(command, f"large:{command}", *(stem % i for i in range(first, first + 1000) for stem in stems))
        before = figures(server)
        loads = [subprocess.Popen(["taskset", "-c", "1", f"{tools}/blast", "127.0.0.1", str(args.port), operation, "1", "16", str(digits), "8",
                                   "1000", str(args.seconds), "10"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for operation, digits in OPERATIONS]
        total = sum(int(re.search(r": (\d+) ops/s", load.communicate()[0])[1]) for load in loads)
        after = figures(server)
        print(f"{total:,} operations a second; " + ", ".join(f"{name} {end - begin}" for name, begin, end in zip(FIGURES, before, after)))


main()
