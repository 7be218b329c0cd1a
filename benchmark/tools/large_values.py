#!/usr/bin/env python3
"""SET and GET of values of 1 KB to 8 MB, on several servers in turn: a table in Markdown, and a chart.

    benchmark/tools/large_values.py --kv PATH/kv-server [--garnet PATH] [--rounds 3] [--seconds 0.4] [--svg FILE] [--realtime]
    benchmark/tools/large_values.py ... --results FILE --sizes 70000,256000      # adds to what is in the file; table and chart are of all of it

All servers are up at once on one core, idle but for the one that is measured; the load (large_values.c) is on the other: two
connections, batches of four. Medians of the rounds; p99 is that of a batch. cpu is the server's processor time by byte of a value, that of
polling for more included. A server that refuses a length, or takes over 30 s, has a dash there. Needs gcc, taskset, redis-server.
"""
import argparse, json, math, os, statistics, subprocess, sys, tempfile
from server import Server

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [1000, 4000, 16000, 50000, 65000, 70000, 100000, 256000, 500000, 1000000, 2000000, 4000000, 8000000]
CONNECTIONS, DEPTH = 2, 4
COLOURS = {"kv": "#0b7a75", "redis": "#c0392b", "garnet": "#2c5aa0"}
NAMES = {"kv": "Kv", "redis": "redis-server", "garnet": "garnet-server"}
TICK = 1e9 / os.sysconf("SC_CLK_TCK")


def processor_ns(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def run(load, server, operation, size, seconds, priority):
    """Rate, p99 in us, and the server's processor time in ns a byte; nothing when the server or the load gives up."""
    keys = 64 if size <= 1000000 else 16
    words = ["taskset", "-c", "1", load, str(server.port), operation, str(CONNECTIONS), str(DEPTH), str(size), str(keys), str(seconds)]
    begin = processor_ns(server.pid)
    try:
        text = subprocess.run(priority + words, capture_output=True, text=True, timeout=30).stdout
        rate = float(text.split(": ")[1].split("/s")[0])
        p99 = float(text.split("p99 ")[1].split(" us")[0])
    except (subprocess.TimeoutExpired, IndexError, ValueError) as failure:
        print(f"{operation} of {size} on port {server.port}: {failure}", file=sys.stderr)
        return None
    return rate, p99, (processor_ns(server.pid) - begin) / ((rate * seconds + keys) * size)


def chart(path, names, medians):
    """Both operations side by side: MB/s over the length, both logarithmic."""
    wide, high, left = 420, 260, 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * (wide + left) + 20}" height="{high + 80}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    sizes = sorted({key[1] for key in medians})
    rates = [rate * key[1] / 1e6 for key, (rate, *_) in medians.items()]
    low, top = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    first, last = math.log10(min(sizes[0], 1000)), math.log10(max(sizes[-1], 8000000))
    for index, operation in enumerate(("SET", "GET")):
        x0, y0 = left + index * (wide + left + 10), 30
        x = lambda size: x0 + wide * (math.log10(size) - first) / (last - first)
        y = lambda rate: y0 + high * (top - math.log10(rate)) / (top - low)
        parts.append(f'<text x="{x0}" y="20" font-weight="bold">{operation}, MB/s by bytes of the value</text>')
        for power in range(low, top + 1):
            parts.append(f'<path d="M{x0} {y(10 ** power):.1f}h{wide}" stroke="#ddd"/><text x="{x0 - 6}" y="{y(10 ** power) + 4:.1f}" text-anchor="end">{10 ** power:,}</text>')
        for size, text in ((1000, "1 KB"), (10000, "10 KB"), (65536, "64 KB"), (1000000, "1 MB"), (8000000, "8 MB")):
            dash = ' stroke-dasharray="4 3"' if size == 65536 else ""
            parts.append(f'<path d="M{x(size):.1f} {y0}v{high}" stroke="#ccc"{dash}/><text x="{x(size):.1f}" y="{y0 + high + 16}" text-anchor="middle">{text}</text>')
        for row, name in enumerate(names):
            points = " ".join(f"{x(size):.1f},{y(medians[operation, size, name][0] * size / 1e6):.1f}" for size in sizes if (operation, size, name) in medians)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
            parts.append(f'<text x="{x0 + 10 + 110 * row}" y="{y0 + high + 36}" fill="{COLOURS[name]}">{NAMES[name]}</text>')
    with open(path, "w") as file:
        file.write("\n".join(parts + ["</svg>"]) + "\n")


def table(names, medians):
    print("| operation, bytes | " + " | ".join(f"{NAMES[name]}: a second, p99 us, cpu ns a byte" for name in names) + " | " + " | ".join(f"of {NAMES[name]}" for name in names[1:]) + " |")
    print("|" + "---|" * (2 * len(names)))
    for operation in ("SET", "GET"):
        for size in sorted({key[1] for key in medians if key[0] == operation}):
            cells, shares = [], []
            own = medians.get((operation, size, "kv"))
            for name in names:
                cell = medians.get((operation, size, name))
                cells.append(f"{cell[0]:,.0f}, {cell[1]:,.0f}, {cell[2]:.3f}" if cell else "-")
                if name != "kv":
                    shares.append(f"{own[0] / cell[0]:.2f}" if own and cell else "-")
            print(f"| {operation} {size:,} | " + " | ".join(cells + shares) + " |")


def measure(given, results):
    """Adds (rate, p99, processor) of each round to the lists of results: (operation, size, server)."""
    priority = ["chrt", "-r", "5"] if given.realtime else []
    commands = {"kv": [given.kv], "redis": ["redis-server", "--save", "", "--daemonize", "no"]}
    if given.garnet:
        commands["garnet"] = [given.garnet, "--bind", "127.0.0.1", "-m", "4g", "--index", "16m", "--no-pubsub"]
    names, servers = list(commands), {}
    with tempfile.TemporaryDirectory() as folder:
        load = os.path.join(folder, "large_values")
        subprocess.run(["gcc", "-O2", "-o", load, os.path.join(HERE, "large_values.c")], check=True)
        try:
            for index, name in enumerate(names):
                servers[name] = Server(priority + ["taskset", "-c", "0"] + commands[name], given.port + index)
            for name in names:
                for operation in ("SET", "GET"):
                    for size in (1000, 70000):
                        run(load, servers[name], operation, size, given.warm, priority)
            for turn in range(given.rounds):
                for size in given.sizes:
                    for operation in ("SET", "GET"):
                        for name in names if turn % 2 == 0 else names[::-1]:
                            if found := run(load, servers[name], operation, size, given.seconds, priority):
                                results.setdefault((operation, size, name), []).append(found)
        finally:
            for server in servers.values():
                server.stop()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kv", required=True)
    options.add_argument("--garnet")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=0.4)
    options.add_argument("--warm", type=float, default=1, help="seconds of warming, of each server, operation and kind of length")
    options.add_argument("--sizes", type=lambda text: [int(word) for word in text.split(",")], default=SIZES)
    options.add_argument("--results", help="a file of results that this run adds to")
    options.add_argument("--svg")
    options.add_argument("--realtime", action="store_true", help="servers and load at real-time priority, where others use the machine")
    options.add_argument("--port", type=int, default=17000)
    given = options.parse_args()
    results = {}
    if given.results and os.path.exists(given.results):
        with open(given.results) as file:
            results = {(operation, size, name): rounds for operation, size, name, rounds in json.load(file)}
    measure(given, results)
    if given.results:
        with open(given.results, "w") as file:
            json.dump([[*key, rounds] for key, rounds in results.items()], file)
    medians = {key: tuple(statistics.median(column) for column in zip(*rounds)) for key, rounds in results.items()}
    names = [name for name in NAMES if any(key[2] == name for key in medians)]
    table(names, medians)
    if given.svg:
        chart(given.svg, names, medians)


if __name__ == "__main__":
    main()
