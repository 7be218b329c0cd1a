#!/usr/bin/env python3
"""SET and GET of values of 1 KB to 8 MB, on several servers in turn: a table in Markdown, and a chart.

    benchmark/tools/large_values.py --kv PATH/kv-server [--garnet PATH] [--rounds 3] [--seconds 0.4] [--svg FILE] [--sizes 1000,...]

All servers are up at once on one core, idle but for the one that is measured; the load (large_values.c) is on the other: two
connections, batches of four. Medians of the rounds; p99 is that of a batch. Needs gcc, taskset, redis-server.
"""
import argparse, math, os, statistics, subprocess, tempfile
from server import Server

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [1000, 4000, 16000, 50000, 65000, 70000, 100000, 256000, 500000, 1000000, 2000000, 4000000, 8000000]
CONNECTIONS, DEPTH = 2, 4
COLOURS = {"kv": "#0b7a75", "redis": "#c0392b", "garnet": "#2c5aa0"}


def run(load, port, operation, size, seconds):
    keys = 64 if size <= 1000000 else 16
    words = ["taskset", "-c", "1", load, str(port), operation, str(CONNECTIONS), str(DEPTH), str(size), str(keys), str(seconds)]
    text = subprocess.run(words, capture_output=True, text=True, timeout=120).stdout
    try:
        return float(text.split(": ")[1].split("/s")[0]), float(text.split("p99 ")[1].split(" us")[0])
    except IndexError:
        raise SystemExit(f"{operation} of {size}: {text}")


def chart(path, names, medians):
    """Both operations side by side: MB/s over the length, both logarithmic."""
    wide, high, left = 420, 260, 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * (wide + left) + 20}" height="{high + 80}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    sizes = sorted({key[1] for key in medians})
    rates = [rate * key[1] / 1e6 for key, (rate, _) in medians.items()]
    low, top = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    first, last = math.log10(sizes[0]), math.log10(sizes[-1])
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
            points = " ".join(f"{x(size):.1f},{y(medians[operation, size, name][0] * size / 1e6):.1f}" for size in sizes)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
            parts.append(f'<text x="{x0 + 10 + 70 * row}" y="{y0 + high + 36}" fill="{COLOURS[name]}">{name}</text>')
    with open(path, "w") as file:
        file.write("\n".join(parts + ["</svg>"]) + "\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kv", required=True)
    options.add_argument("--garnet")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=0.4)
    options.add_argument("--sizes", type=lambda text: [int(word) for word in text.split(",")], default=SIZES)
    options.add_argument("--svg")
    options.add_argument("--port", type=int, default=17000)
    given = options.parse_args()
    commands = {"kv": [given.kv], "redis": ["redis-server", "--save", "", "--daemonize", "no"]}
    if given.garnet:
        commands["garnet"] = [given.garnet, "--bind", "127.0.0.1", "-m", "4g", "--index", "16m", "--no-pubsub"]
    names, servers, results = list(commands), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        load = os.path.join(folder, "large_values")
        subprocess.run(["gcc", "-O2", "-o", load, os.path.join(HERE, "large_values.c")], check=True)
        try:
            for index, name in enumerate(names):
                servers[name] = Server(["taskset", "-c", "0"] + commands[name], given.port + index)
            for name in names:
                for operation in ("SET", "GET"):
                    for size in (1000, 70000):
                        run(load, servers[name].port, operation, size, 1)
            for turn in range(given.rounds):
                for size in given.sizes:
                    for operation in ("SET", "GET"):
                        for name in names if turn % 2 == 0 else names[::-1]:
                            results.setdefault((operation, size, name), []).append(run(load, servers[name].port, operation, size, given.seconds))
        finally:
            for server in servers.values():
                server.stop()
    medians = {key: tuple(statistics.median(column) for column in zip(*runs)) for key, runs in results.items()}
    print("| operation, bytes | " + " | ".join(f"{name}: a second, p99 us" for name in names) + " | " + " | ".join(f"of {name}" for name in names[1:]) + " |")
    print("|" + "---|" * (2 * len(names)))
    for operation in ("SET", "GET"):
        for size in given.sizes:
            own = medians[operation, size, "kv"]
            cells = [f"{medians[operation, size, name][0]:,.0f}, {medians[operation, size, name][1]:,.0f}" for name in names]
            print(f"| {operation} {size:,} | " + " | ".join(cells + [f"{own[0] / medians[operation, size, name][0]:.2f}" for name in names[1:]]) + " |")
    if given.svg:
        chart(given.svg, names, medians)


if __name__ == "__main__":
    main()
