#!/usr/bin/env python3
"""Measures what a server holds: empty, a key, an idle connection, and what comes back after FLUSHALL and DEL.

    benchmark/tools/memory.py --kv PATH [--transport epoll|pipelines] [--keys 10000000] [--connections 10000]

PATH is a published kv-server (or redis-server, for comparison). Needs gcc (blast.c loads the keys) and a descriptor limit above the connections.
"""
import argparse, os, resource, socket, subprocess, tempfile, time

from server import Server

MB = 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(args, port):
    extra = ["--transport", args.transport] if "kv-server" in args.kv else ["--save", ""]
    return Server([args.kv, "--maxclients", "20000", *extra], port)


def report(name, text):
    print(f"{name:<44} {text}", flush=True)


def keys(args, tools, port):
    server = start(args, port)
    time.sleep(2)
    empty = server.resident()
    report("empty, RSS", f"{empty / MB:.1f} MB")
    before = cpu_seconds(server.pid)
    time.sleep(10)
    report("idle, share of a core", f"{(cpu_seconds(server.pid) - before) * 10:.2f} %")
    subprocess.run([f"{tools}/blast", "127.0.0.1", str(port), "LOAD", "1", "4096", "8", "8", str(args.keys), "0"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(1)
    full = server.resident()
    report(f"{args.keys:,} keys of 8 + 8 bytes", f"{(full - empty) / args.keys:.1f} bytes a key ({full / MB:.0f} MB)")

    deleted = 0
    for first in range(0, args.keys * 9 // 10, 1000):
        server.send("DEL", *(f"{i:08d}" for i in range(first, first + 1000)))
        deleted += 1
        if deleted % 50 == 0:
            server.skip(50)
    server.skip(deleted % 50)
    for wait in (10, 50):
        time.sleep(wait)
        report(f"{wait if wait == 10 else 60} s after DEL of 90 %", f"{(server.resident() - empty) / MB:.0f} MB over empty, {server.call('DBSIZE').decode().strip()} keys")
    memory = dict(line.split(b":", 1) for line in server.call("INFO", "memory").split(b"\r\n") if b":" in line)
    for field in (b"used_memory", b"kv_index_bytes", b"kv_log_bytes"):
        if field in memory:
            report("  " + field.decode(), f"{int(memory[field]) / 1e6:.0f} MB")

    subprocess.run([f"{tools}/blast", "127.0.0.1", str(port), "LOAD", "1", "4096", "8", "8", str(args.keys), "0"], check=True, stdout=subprocess.DEVNULL)
    peak = server.resident()
    server.call("FLUSHALL")
    time.sleep(10)
    left = server.resident() - empty
    report("10 s after FLUSHALL", f"{left / MB:.1f} MB over empty, {left * 100 / peak:.1f} % of the peak of {peak / MB:.0f} MB")
    server.stop()


def connections(args, port):
    server = start(args, port)
    time.sleep(1)
    before = server.resident()
    clients = []
    for _ in range(args.connections):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"SET a b\r\n")
        client.recv(5)
        clients.append(client)
    time.sleep(2)
    report(f"{args.connections:,} idle connections after one SET", f"{(server.resident() - before) / 1024 / args.connections:.2f} KB each")
    cpu = cpu_seconds(server.pid)
    time.sleep(10)
    report("  their share of a core", f"{(cpu_seconds(server.pid) - cpu) * 10:.2f} %")
    for client in clients:
        client.sendall(b"GET a\r\n" * 100)
    for client in clients:
        left = 700
        while left > 0:
            left -= len(client.recv(left))
    time.sleep(2)
    report("  after a pipeline of 100 GETs on each", f"{(server.resident() - before) / 1024 / args.connections:.2f} KB each")
    for client in clients:
        client.close()
    time.sleep(3)
    report("  3 s after they have gone", f"{(server.resident() - before) / MB:.1f} MB over before")
    server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--transport", default="epoll")
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--port", type=int, default=17500)
    args = parser.parse_args()
    wanted = args.connections + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(wanted, soft), hard), hard))
    tools = tempfile.mkdtemp(prefix="kv-memory-")
    subprocess.run(["gcc", "-O2", f"{HERE}/blast.c", "-o", f"{tools}/blast", "-lpthread"], check=True)
    if args.keys:
        keys(args, tools, args.port)
    if args.connections:
        connections(args, args.port + 1)


main()
