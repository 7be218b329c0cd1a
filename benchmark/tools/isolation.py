#!/usr/bin/env python3
"""How long one huge command keeps the others of its worker waiting.

A server with one worker is kept busy by one client that sends one command of very many keys again and again. Another
client sends a GET of another key each millisecond; what is printed is how long those took, from the moment each was
due (so a stall counts for every GET that was due in it), beside the time of the huge command itself.

    benchmark/tools/isolation.py [--server src/Host/bin/Release/net10.0/kv-server] [--seconds 5] [--pairs 524287] [CELL ...]
    benchmark/tools/isolation.py --redis /usr/bin/redis-server

Two cores: server on the first, clients on the second; a quiet machine. Beside other programs no priority is enough: under chrt the kernel
stops real-time threads for 50 ms of each second in which they took all of a core (kernel.sched_rt_runtime_us), and with nice the worker
waits for the others' time, too. Whether a stall is the server's tells: perf sched record, then perf sched latency --sort max.
"""
import argparse
import multiprocessing
import os
import socket
import subprocess
import time


def command(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def keys(count, stem=b"key"):
    return [b"%s:%08d" % (stem, i) for i in range(count)]


def pairs(count, value, stem=b"key"):
    return [word for key in keys(count, stem) for word in (key, value)]


def cells(pair_count):
    """Name, what is run before (once), what is run again and again. Each entry is a list of requests, sent one by one; one of the
    latter may be a function that makes it out of what the server answers to another."""
    key_count = 2 * pair_count
    fill = [command(b"MSET", *pairs(pair_count, b"v" * 8))]
    rest = [command(b"MSET", *pairs(pair_count, b"v" * 8, b"other"))]
    both = keys(pair_count) + keys(pair_count, b"other")
    big = [command(b"SET", b"big", b"b" * (256 << 20))]

    def elements(name, key, count, *stems):
        """The collection, a thousand elements a request."""
        return [command(name, key, *(word for i in range(first, first + 1000) for word in (stem % i for stem in stems))) for first in range(0, count, 1000)]

    def members(count=1_000_000):
        return elements(b"SADD", b"set", count, b"member:%08d")

    def scores():
        return elements(b"ZADD", b"scores", 1_000_000, b"1%06d", b"member:%06d")

    def long_list():
        return elements(b"RPUSH", b"list", 1_000_000, b"element:%d")

    def restore(before, key):
        return before, [lambda ask: command(b"RESTORE", b"restored", b"0", ask(command(b"DUMP", key)), b"REPLACE")]

    def stream(count=1_000_000):
        return [command(b"XADD", b"stream", b"%d-1" % (i + 1), b"field", b"value:%d" % i) for i in range(count)]

    def ids(first, count):
        return [b"%d-1" % i for i in range(first, first + count)]

    def pending(count=1_000_000):
        """A stream and a group that has got all of it: a thousand ids are pending by a request, whose reply is short."""
        return stream(count) + [command(b"XGROUP", b"CREATE", b"stream", b"group", b"$")] + [
            command(b"XCLAIM", b"stream", b"group", b"consumer", b"0", *ids(first + 1, 1000), b"FORCE", b"JUSTID") for first in range(0, count, 1000)]

    def on_copy(before, *words):
        """Something that can be done once only, to a copy each time."""
        return before, [command(b"COPY", b"stream", b"copy", b"REPLACE"), command(*words)]

    return {
        "mset": ([], fill),
        "mset-copy": ([], fill + [command(b"MSET", *pairs(pair_count, b"v" * 40))]),
        "mset-new-del": ([], fill + [command(b"DEL", *keys(pair_count))]),
        "msetnx": (fill, [command(b"MSETNX", *pairs(pair_count, b"v" * 8))]),
        "mget": (fill + rest, [command(b"MGET", *both)]),
        "mget-missing": ([], [command(b"MGET", *keys(key_count))]),
        "exists": (fill + rest, [command(b"EXISTS", *both)]),
        "del-missing": ([], [command(b"DEL", *keys(key_count))]),
        "smembers": lambda: (members(), [command(b"SMEMBERS", b"set")]),
        "hgetall": lambda: (elements(b"HSET", b"hash", 1_000_000, b"field:%06d", b"value:%06d"), [command(b"HGETALL", b"hash")]),
        "lrange": lambda: (elements(b"RPUSH", b"list", 1_000_000, b"element:%d"), [command(b"LRANGE", b"list", b"0", b"-1")]),
        "zrange": lambda: (scores(), [command(b"ZRANGE", b"scores", b"0", b"-1", b"WITHSCORES")]),
        "sort": lambda: (elements(b"RPUSH", b"list", 100_000, b"%d"), [command(b"SORT", b"list", b"DESC")]),
        "sunionstore": lambda: (members(), [command(b"SUNIONSTORE", b"copy", b"set")]),
        "zunionstore": lambda: (members() + scores(), [command(b"ZUNIONSTORE", b"copy", b"2", b"set", b"scores")]),
        "spop": lambda: (members(), [command(b"SUNIONSTORE", b"copy", b"set"), command(b"SPOP", b"copy", b"500000")]),
        "copy": lambda: (scores(), [command(b"COPY", b"scores", b"copy", b"REPLACE")]),
        "del-10m": lambda: (members(10_000_000), [command(b"SUNIONSTORE", b"copy", b"set"), command(b"DEL", b"copy")]),
        "restore": lambda: restore(long_list(), b"list"),
        "restore-scores": lambda: restore(scores(), b"scores"),
        "dump": lambda: (long_list(), [command(b"DUMP", b"list")]),
        "dump-scores": lambda: (scores(), [command(b"DUMP", b"scores")]),
        "lrem": lambda: (long_list(), [command(b"LREM", b"list", b"0", b"none")]),
        "lpos": lambda: (long_list(), [command(b"LPOS", b"list", b"none")]),
        "ltrim": lambda: (long_list(), [command(b"COPY", b"list", b"copy", b"REPLACE"), command(b"LTRIM", b"copy", b"400000", b"600000")]),
        "xrange": lambda: (stream(), [command(b"XRANGE", b"stream", b"-", b"+")]),
        "xread": lambda: (stream(), [command(b"XREAD", b"STREAMS", b"stream", b"0")]),
        "xgroup-destroy": lambda: on_copy(pending(), b"XGROUP", b"DESTROY", b"copy", b"group"),
        "xgroup-delconsumer": lambda: on_copy(pending(), b"XGROUP", b"DELCONSUMER", b"copy", b"group", b"consumer"),
        "xreadgroup": lambda: on_copy(
            stream(200_000) + [command(b"XGROUP", b"CREATE", b"stream", b"group", b"0")], b"XREADGROUP", b"GROUP", b"group", b"consumer", b"STREAMS", b"copy", b">"),
        "xreadgroup-noack": lambda: on_copy(
            stream(200_000) + [command(b"XGROUP", b"CREATE", b"stream", b"group", b"0")], b"XREADGROUP", b"GROUP", b"group", b"consumer", b"NOACK", b"STREAMS", b"copy", b">"),
        "xreadgroup-history": lambda: (pending(200_000), [command(b"XREADGROUP", b"GROUP", b"group", b"consumer", b"STREAMS", b"stream", b"0")]),
        "xpending": lambda: (pending(200_000), [command(b"XPENDING", b"stream", b"group", b"-", b"+", b"200000")]),
        "xpending-idle": lambda: (pending(), [command(b"XPENDING", b"stream", b"group", b"IDLE", b"1000000000", b"-", b"+", b"10")]),
        "xack": lambda: on_copy(pending(), b"XACK", b"copy", b"group", *ids(1, 500_000)),
        "xdel": lambda: on_copy(stream(), b"XDEL", b"copy", *ids(1, 500_000)),
        "xclaim": lambda: (pending(), [command(b"XCLAIM", b"stream", b"group", to, b"0", *ids(1, 500_000), b"JUSTID") for to in (b"one", b"two")]),
        "xautoclaim": lambda: (pending(), [command(b"XAUTOCLAIM", b"stream", b"group", to, b"0", b"0", b"COUNT", b"1000000", b"JUSTID") for to in (b"one", b"two")]),
        "sadd-arguments": lambda: ([], [command(b"SADD", b"set", *keys(500_000)), command(b"DEL", b"set")]),
        "rpush-arguments": lambda: ([], [command(b"RPUSH", b"list", *keys(500_000)), command(b"DEL", b"list")]),
        "hset-arguments": lambda: ([], [command(b"HSET", b"hash", *keys(500_000)), command(b"DEL", b"hash")]),
        "zadd-arguments": lambda: ([], [
            command(b"ZADD", b"scores", *(word for i in range(250_000) for word in (b"%d" % (i * 7919 % 250_000), b"member:%d" % i))), command(b"DEL", b"scores")]),
        "geoadd-arguments": lambda: ([], [
            command(b"GEOADD", b"places", *(word for i in range(160_000) for word in (b"%.3f" % (i % 180), b"%.3f" % (i % 85), b"member:%d" % i))), command(b"DEL", b"places")]),
        "pfadd-arguments": lambda: ([], [command(b"PFADD", b"distinct", *keys(500_000)), command(b"DEL", b"distinct")]),
        "smismember": lambda: (members(), [command(b"SMISMEMBER", b"set", *(b"member:%08d" % i for i in range(500_000)))]),
        "srandmember": lambda: (members(), [command(b"SRANDMEMBER", b"set", b"500000")]),
        "srandmember-few": lambda: (members(), [command(b"SRANDMEMBER", b"set", b"100000")]),
        "srandmember-repeats": lambda: (members(), [command(b"SRANDMEMBER", b"set", b"-500000")]),
        "srandmember-small": lambda: ([command(b"SADD", b"set", *(b"member:%02d" % i for i in range(100)))], [command(b"SRANDMEMBER", b"set", b"-1000000")]),
        "hrandfield": lambda: (elements(b"HSET", b"hash", 1_000_000, b"field:%06d", b"value:%06d"), [command(b"HRANDFIELD", b"hash", b"500000", b"WITHVALUES")]),
        "zrandmember": lambda: (scores(), [command(b"ZRANDMEMBER", b"scores", b"500000", b"WITHSCORES")]),
        "lpop": lambda: (long_list(), [command(b"COPY", b"list", b"copy", b"REPLACE"), command(b"LPOP", b"copy", b"500000")]),
        "lpop-all": lambda: (long_list(), [command(b"COPY", b"list", b"copy", b"REPLACE"), command(b"LPOP", b"copy", b"1000000")]),
        "lmpop": lambda: (long_list(), [command(b"COPY", b"list", b"copy", b"REPLACE"), command(b"LMPOP", b"1", b"copy", b"RIGHT", b"COUNT", b"500000")]),
        "zpopmin": lambda: (scores(), [command(b"COPY", b"scores", b"copy", b"REPLACE"), command(b"ZPOPMIN", b"copy", b"500000")]),
        "zmpop": lambda: (scores(), [command(b"COPY", b"scores", b"copy", b"REPLACE"), command(b"ZMPOP", b"1", b"copy", b"MAX", b"COUNT", b"500000")]),
        "getrange": (big, [command(b"GETRANGE", b"big", b"1", b"-1")]),
        "append": (big, [command(b"APPEND", b"big", b"0123456789abcdef")]),
        "setrange-copy": (big, [command(b"SETRANGE", b"big", b"0", b"x"), command(b"COPY", b"big", b"big2", b"REPLACE")]),
    }


def connect(port):
    for _ in range(200):
        try:
            client = socket.create_connection(("127.0.0.1", port))
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return client
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise SystemExit("the server does not listen")


def skip_reply(stream):
    """Reads one reply and drops it."""
    line = stream.readline()
    if not line:
        raise SystemExit("the server closed the connection")
    kind, rest = line[:1], line[1:]
    if kind == b"-":
        raise SystemExit(line.decode())
    if kind == b"$" and int(rest) >= 0:
        left = int(rest) + 2
        while left > 0:
            left -= len(stream.read(min(left, 1 << 20)))
    if kind in (b"*", b"~"):
        for _ in range(int(rest)):
            skip_reply(stream)


def ask(port, request):
    """A string that the server answers."""
    client = connect(port)
    client.sendall(request)
    stream = client.makefile("rb", buffering=1 << 20)
    return stream.read(int(stream.readline()[1:]))


def drain(port, request_list, seconds, results):
    """The busy client: at 1,000,000 values Python would be slower than the server, so replies are counted by their bytes, of which each has as many as the first."""
    client = connect(port)
    client.settimeout(120)      # a reply that is shorter is not waited for forever
    sizes = [None] * len(request_list)
    times = []
    end = time.monotonic() + seconds
    buffer = bytearray(1 << 20)
    while time.monotonic() < end or not times:
        for i, request in enumerate(request_list):
            begin = time.monotonic()
            client.sendall(request)
            if sizes[i] is None:
                counted = CountingReader(client)
                skip_reply(counted)
                sizes[i] = counted.count
            else:
                left = sizes[i]
                while left > 0:
                    left -= client.recv_into(buffer, min(left, len(buffer)))
                times.append(time.monotonic() - begin)
    results.put(times)


class CountingReader:
    def __init__(self, client):
        self.file = client.makefile("rb", buffering=1 << 20)
        self.count = 0

    def readline(self):
        line = self.file.readline()
        self.count += len(line)
        return line

    def read(self, size):
        data = self.file.read(size)
        self.count += len(data)
        return data


def probe(port, seconds, results):
    if os.geteuid() == 0:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(20))    # the clock must not wait for the busy client
    client = connect(port)
    request = command(b"GET", b"probe")
    times = []
    begin = due = time.monotonic()
    while due < begin + seconds:
        now = time.monotonic()
        if now < due:
            time.sleep(due - now)
        client.sendall(request)
        client.recv(100)
        times.append(time.monotonic() - due)
        due += 0.001
    results.put(times)


def quantile(times, part):
    times = sorted(times)
    return 1000 * times[min(len(times) - 1, int(part * len(times)))]


def run(name, before, again, options, port):
    if options.redis:
        arguments = [options.redis, "--port", str(port), "--save", "", "--appendonly", "no"]
    else:
        arguments = [options.server, "--port", str(port), "--worker-threads", "1", "--save", ""]
    server = subprocess.Popen(["taskset", "-c", "0", *arguments], stdout=subprocess.DEVNULL)
    os.sched_setaffinity(0, {1 % os.cpu_count()})
    try:
        if before:
            client = connect(port)
            stream = client.makefile("rb", buffering=1 << 20)
            for first in range(0, len(before), 1000):
                some = before[first:first + 1000]
                if len(some[0]) > 10_000:       # long ones wait for their replies
                    for request in some:
                        client.sendall(request)
                        skip_reply(stream)
                    continue
                client.sendall(b"".join(some))
                for _ in some:
                    skip_reply(stream)
            client.close()
        again = [make(lambda request: ask(port, request)) if callable(make) else make for make in again]
        results, probes = multiprocessing.Queue(), multiprocessing.Queue()
        busy = multiprocessing.Process(target=drain, args=(port, again, options.seconds + 1.5, results))
        busy.start()
        time.sleep(1)
        prober = multiprocessing.Process(target=probe, args=(port, options.seconds, probes))
        prober.start()
        times = probes.get()
        commands = results.get()
        busy.join()
        prober.join()
        print(f"{name:18} {len(commands):5} commands, median {quantile(commands, 0.5):7.1f} ms   others: p50 {quantile(times, 0.5):6.2f}"
              f"  p99 {quantile(times, 0.99):7.2f}  p99.9 {quantile(times, 0.999):7.2f}  max {1000 * max(times):7.2f} ms", flush=True)
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="src/Host/bin/Release/net10.0/kv-server")
    parser.add_argument("--redis", help="measure this redis-server instead")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--pairs", type=int, default=524287, help="pairs of MSET; the others have twice as many keys")
    parser.add_argument("cells", nargs="*")
    options = parser.parse_args()
    port = 20000 + os.getpid() % 20000
    for name, cell in cells(options.pairs).items():
        if not options.cells or name in options.cells:
            before, again = cell() if callable(cell) else cell      # large ones are made when it is their turn
            run(name, before, again, options, port)
            port += 1


if __name__ == "__main__":
    main()
