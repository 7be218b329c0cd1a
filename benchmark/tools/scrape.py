#!/usr/bin/env python3
"""What a scrape costs those who are served: latencies of an open loop of GET and SET with and without somebody who asks for /metrics, in turns.

    benchmark/tools/scrape.py --kv PATH --load PATH [--rounds 5] [--seconds 10] [--rate 50000] [--connections 50]

PATHs are a published kv-server, pinned to the first core with one worker, and the load generator (docs/load-generator.md), pinned to the second,
as is the one who asks. Latencies run from when a command was due, so what a scrape holds up is seen however short it is.
"""
import argparse, json, os, statistics, subprocess, tempfile, threading, urllib.request

from server import Server

METRICS_PORT = 7425
MODES = {"nobody asks": None, "`/metrics` on `port` each second": (7424, 1), "... each 100 ms": (7424, 0.1),
         "`/metrics` on `metrics-port` each second": (METRICS_PORT, 1), "... each 100 ms ": (METRICS_PORT, 0.1)}


def scrape(port, pause, ending, count):
    while not ending.wait(pause):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
            assert b"redis_up 1" in page.read()
        count.append(1)


def measure(load, port, options, asks):
    ending, count = threading.Event(), []
    thread = threading.Thread(target=scrape, args=(*asks, ending, count)) if asks else None
    if thread:
        thread.start()
    result = os.path.join(tempfile.mkdtemp(), "run.json")
    subprocess.run(["taskset", "-c", "1", load, "run", "--host", "127.0.0.1", "--port", str(port), "--mix", "GET:50,SET:50", "--keys", "100000",
                    "--conns", str(options.connections), "--rate", str(options.rate), "--duration", f"{options.seconds}s", "--json", result,
                    "--progress", "off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ending.set()
    if thread:
        thread.join()
    with open(result) as file:
        run = json.load(file)["cells"][0]["reps"][0]
    return run.get("response", run["service"]), len(count)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kv", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rate", type=int, default=50000)
    parser.add_argument("--connections", type=int, default=50)
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})
    command = ["taskset", "-c", "0", options.kv, "--worker-threads", "1", "--save", "", "--metrics-port", str(METRICS_PORT)]
    with Server(command, 7424) as server:
        found = {mode: [] for mode in MODES}
        measure(options.load, server.port, options, (METRICS_PORT, 0.1))       # warm
        for turn in range(options.rounds):
            for mode in list(MODES)[::1 if turn % 2 else -1]:
                found[mode].append(measure(options.load, server.port, options, MODES[mode]))
        print("| | scrapes a run | p50 us | p99 us | p99.9 us: median [least..most] |\n|---|--:|--:|--:|--:|")
        for mode, runs in found.items():
            p50, p99, p999 = ([run[key] for run, _ in runs] for key in ("p50", "p99", "p999"))
            print("| %s | %d | %.0f | %.0f | %.0f [%.0f..%.0f] |" % (mode.strip(), statistics.median(count for _, count in runs),
                  statistics.median(p50), statistics.median(p99), statistics.median(p999), min(p999), max(p999)), flush=True)


main()
