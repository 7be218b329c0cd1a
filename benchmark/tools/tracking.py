#!/usr/bin/env python3
"""What client tracking costs clients that do not track: processor time of the server a command, by mode, in rounds that take turns.

    benchmark/tools/tracking.py --kv PATH [--before PATH] [--rounds 9] [--seconds 1] [CELL ...]

PATH is a published kv-server, `--before` one to compare with (the first column of ratios is to that, or to "off"). Each server is pinned to the
first core with one worker, blast.c (built here, with gcc) to the second. A cell is OP:DEPTH:CONNECTIONS. Modes: off; one client in default mode
that has read 1,000 other keys; one in broadcasting mode with a prefix that no key has.
"""
import argparse

from processor import CELLS, Blast, Subject, take_turns
from server import Client

TRACKING = {"off": None, "default": ["ON"], "broadcasting": ["ON", "BCAST", "PREFIX", "t:"]}


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
    parser.add_argument("cells", nargs="*", default=CELLS)
    options = parser.parse_args()
    blast = Blast()
    subjects = dict.fromkeys(TRACKING, Subject(options.kv, 7421))
    if options.before:
        subjects = {"before": Subject(options.before, 7422), **subjects}

    def measure(mode, cell):
        server = subjects[mode]
        tracking = TRACKING.get(mode) and tracking_client(server.port, TRACKING[mode])
        result = blast.cost(server, cell, options.seconds)
        if tracking:
            tracking.client.close()
        return result

    for server in set(subjects.values()):
        blast.warm(server, options.cells)
    print("| cell | mode | ns a command: median [least..most] | to %s: median, least |\n|---|---|---|---|" % next(iter(subjects)))
    take_turns(list(subjects), options.cells, options.rounds, measure)
    for server in set(subjects.values()):
        server.stop()


main()
