#!/usr/bin/env python3
"""Bytes an element of each collection: what the process grew by, and what MEMORY USAGE says, beside redis-server.

    benchmark/tools/collection_memory.py --kv PATH [--redis /usr/bin/redis-server] [--elements 2000000] [--integers] [TYPE ...]

PATH is a published kv-server. For elements (fields, with a value of as many bytes) of 8 and 64 bytes, in collections of 10, 1,000 and
1,000,000, so many collections that there are about --elements in all. Elements arrive a hundred at a time, as text that is no integer;
with --integers as 8 digits that are one (values of hashes, too). A server takes some 5 MB for itself meanwhile: 0.5 bytes an element of 10,000,000.
"""
import argparse, time

from server import Server

WORDS = {"list": b"RPUSH", "hash": b"HSET", "set": b"SADD", "zset": b"ZADD"}


def element(type_name, number, width, integers):
    name = b"%d" % (10_000_000 + number) if integers else b"m%0*d" % (width - 1, number)
    if type_name == "hash":
        return [name, name if integers else b"v%0*d" % (width - 1, number)]
    return [b"%d" % (number % 100_000), name] if type_name == "zset" else [name]


def measure(command, port, type_name, width, size, args):
    with Server(command, port) as server:
        # What a server takes once, for its first commands and types, is not an element's.
        for i in range(100):
            server.call(WORDS[type_name], b"warm:%d" % i, *element(type_name, i, width, args.integers))
        time.sleep(2)
        before = server.resident()
        keys = max(1, args.elements // size)
        step, owed = min(100, size), 0
        for first in range(0, size, step):
            for key in range(keys):
                words = [WORDS[type_name], b"k:%d" % key]
                for number in range(first, min(size, first + step)):
                    words += element(type_name, number, width, args.integers)
                server.send(*words)
                owed += 1
                if owed == 100:
                    server.skip(owed)
                    owed = 0
        server.skip(owed)
        time.sleep(3)
        growth = (server.resident() - before) / (keys * size)
        return growth, int(server.call(b"MEMORY", b"USAGE", b"k:0", b"SAMPLES", b"0")[1:]) / size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--redis", default="/usr/bin/redis-server")
    parser.add_argument("--elements", type=int, default=2_000_000)
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--size", type=int, action="append", help="of a collection, instead of the three")
    parser.add_argument("--port", type=int, default=7391)
    parser.add_argument("types", nargs="*", default=list(WORDS))
    args = parser.parse_args()
    print("| type | elements of | a collection | growth: Kv | Redis | MEMORY USAGE: Kv | Redis |\n|---|---|---|---|---|---|---|")
    for type_name in args.types:
        for width in (8,) if args.integers else (8, 64):
            for size in args.size or (10, 1000, 1_000_000):
                kv = measure([args.kv], args.port, type_name, width, size, args)
                redis = measure([args.redis, "--save", ""], args.port + 1, type_name, width, size, args)
                print(f"| {type_name} | {width} B | {size:,} | {kv[0]:.1f} | {redis[0]:.1f} | {kv[1]:.1f} | {redis[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
