#!/usr/bin/env python3
"""What client tracking costs clients that do not track: processor time of the server a command, by mode, in rounds that take turns.

    benchmark/tools/tracking.py --kv PATH [--before PATH] [--rounds 9] [--seconds 1] [CELL ...]

PATH is a published kv-server, `--before` one to compare with (the first column of ratios is to that, or to "off"). Each server is pinned to the
first core with one worker, blast.c (built here, with gcc) to the second. A cell is OP:DEPTH:CONNECTIONS. Modes: off; one client in default mode
that has read 1,000 other keys; one in broadcasting mode with a prefix that no key has.
"""
import argparse, os, statistics, subprocess, tempfile, time

from server import Client, Server

TRACKING = {"off": None, "default": ["ON"], "broadcasting": ["ON", "BCAST", "PREFIX", "t:"]}


class Subject(Server):
    """A server whose processor time and commands are counted."""

    def __init__(self, path, port):
        super().__init__(["taskset", "-c", "0", path, "--worker-threads", "1"], port)

    def nanoseconds(self):
        return time.clock_gettime_ns(~self.pid << 3 | 2)        # the process' own clock, with threads that have ended

    def commands(self):
        text = self.call("INFO", "stats").decode()
        return int(text.split("total_commands_processed:")[1].split()[0])


def blast(program, port, op, depth, connections, seconds):
    subprocess.run(["taskset", "-c", "1", program, "127.0.0.1", str(port), op, "1", depth, "8", "8", "1024", str(seconds), connections],
                   stdout=subprocess.DEVNULL, check=True)


def measure(program, server, cell, options, seconds):
    tracking = tracking_client(server.port, options) if options else None
    commands, begin = server.commands(), server.nanoseconds()
    blast(program, server.port, *cell.split(":"), seconds)
    result = (server.nanoseconds() - begin) / (server.commands() - commands)
    if tracking:
        tracking.client.close()
    return result


def tracking_client(port, options):
    client = Client(port)
    client.send("HELLO", "3")
    while client.file.readline() != b"*0\r\n":      # the last field has no modules
        pass
    assert client.call("CLIENT", "TRACKING", *options) == b"+OK\r\n"
    if "BCAST" not in options:
        for i in range(1000):
            client.call("GET", f"t:{i}")
    return client


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--before")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("cells", nargs="*", default=["GET:4096:2", "SET:4096:2", "GET:1:50", "SET:1:50"])
    options = parser.parse_args()
    program = os.path.join(tempfile.mkdtemp(), "blast")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "blast.c")
    subprocess.run(["gcc", "-O2", "-march=native", source, "-o", program, "-lpthread"], check=True)
    subjects = dict.fromkeys(TRACKING, Subject(options.kv, 7421))
    if options.before:
        subjects = {"before": Subject(options.before, 7422), **subjects}
    for server in set(subjects.values()):
        blast(program, server.port, "LOAD", "64", "1", 1)
        for cell in options.cells:
            blast(program, server.port, *cell.split(":"), 4)       # warm
    print("| cell | mode | ns a command: median [least..most] | to %s: median, least |\n|---|---|---|---|" % next(iter(subjects)))
    for cell in options.cells:
        times = {mode: [] for mode in subjects}
        for turn in range(options.rounds):
            for mode in list(subjects)[::1 if turn % 2 else -1]:
                times[mode].append(measure(program, subjects[mode], cell, TRACKING.get(mode), options.seconds))
        first = times[next(iter(subjects))]
        for mode, taken in times.items():
            print("| %s | %s | %.1f [%.1f..%.1f] | %.3f, %.3f |" % (cell, mode, statistics.median(taken), min(taken), max(taken),
                  statistics.median(taken) / statistics.median(first), min(taken) / min(first)), flush=True)
    for server in set(subjects.values()):
        server.stop()


main()
