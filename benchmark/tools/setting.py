#!/usr/bin/env python3
"""What a setting costs: processor time of the server a command with each value of an option, in rounds that take turns.

    benchmark/tools/setting.py --kv PATH --option latency-tracking --values no,yes [--rounds 9] [--seconds 1] [CELL ...]

PATH is a published kv-server, pinned to the first core with one worker; blast.c (built here, with gcc) runs on the second. CONFIG SET changes the
option between rounds. A cell is OP:DEPTH:CONNECTIONS. Ratios are to the first value; with `--values no,no` they show what the machine itself does.
"""
import argparse

from processor import CELLS, Blast, Subject, take_turns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--option", required=True)
    parser.add_argument("--values", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("cells", nargs="*", default=CELLS)
    options = parser.parse_args()
    blast, values = Blast(), options.values.split(",")
    with Subject(options.kv, 7423, "--save", "") as server:
        def measure(place, cell):
            assert server.call("CONFIG", "SET", options.option, values[place[0]]) == b"+OK\r\n"
            return blast.cost(server, cell, options.seconds)

        blast.warm(server, options.cells)
        print("| cell | %s (place, value) | ns a command: median [least..most] | median, least to the first |\n|---|---|---|---|" % options.option)
        take_turns(list(enumerate(values)), options.cells, options.rounds, measure)


main()
