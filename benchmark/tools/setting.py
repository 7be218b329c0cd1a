#!/usr/bin/env python3
"""What a setting costs: processor time of the server a command with each value of an option, in rounds that take turns.

    benchmark/tools/setting.py --kv PATH --option latency-tracking --values no,yes [--rounds 9] [--seconds 1] [CELL ...]

PATH is a published kv-server, pinned to the first core with one worker; blast.c (built here, with gcc) runs on the second. CONFIG SET changes the
option between rounds. A cell is OP:DEPTH:CONNECTIONS. Ratios are to the first value; with `--values no,no` they show what the machine itself does.
"""
import argparse, os, statistics, subprocess, tempfile, time

from server import Server


def blast(program, port, op, depth, connections, seconds):
    subprocess.run(["taskset", "-c", "1", program, "127.0.0.1", str(port), op, "1", depth, "8", "8", "1024", str(seconds), connections],
                   stdout=subprocess.DEVNULL, check=True)


def commands(server):
    return int(server.call("INFO", "stats").decode().split("total_commands_processed:")[1].split()[0])


def measure(program, server, cell, seconds):
    clock = ~server.pid << 3 | 2        # the process' own, with threads that have ended
    before, begin = commands(server), time.clock_gettime_ns(clock)
    blast(program, server.port, *cell.split(":"), seconds)
    return (time.clock_gettime_ns(clock) - begin) / (commands(server) - before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--option", required=True)
    parser.add_argument("--values", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("cells", nargs="*", default=["GET:4096:2", "SET:4096:2", "GET:1:50", "SET:1:50"])
    options = parser.parse_args()
    program = os.path.join(tempfile.mkdtemp(), "blast")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "blast.c")
    subprocess.run(["gcc", "-O2", "-march=native", source, "-o", program, "-lpthread"], check=True)
    values = options.values.split(",")
    with Server(["taskset", "-c", "0", options.kv, "--worker-threads", "1", "--save", ""], 7423) as server:
        blast(program, server.port, "LOAD", "64", "1", 1)
        for cell in options.cells:
            blast(program, server.port, *cell.split(":"), 4)       # warm
        print("| cell | %s | ns a command: median [least..most] | median, least to the first |\n|---|---|---|---|" % options.option)
        for cell in options.cells:
            times = [[] for _ in values]
            for turn in range(options.rounds):
                for i in list(range(len(values)))[::1 if turn % 2 else -1]:
                    assert server.call("CONFIG", "SET", options.option, values[i]) == b"+OK\r\n"
                    times[i].append(measure(program, server, cell, options.seconds))
            for value, taken in zip(values, times):
                print("| %s | %s | %.1f [%.1f..%.1f] | %.3f, %.3f |" % (cell, value, statistics.median(taken), min(taken), max(taken),
                      statistics.median(taken) / statistics.median(times[0]), min(taken) / min(times[0])), flush=True)


main()
