#!/usr/bin/env python3
"""Works on every type with random sizes for some minutes, beside slow and vanishing clients and changing limits, then
holds the server's memory against its data.

    soak.py KV_SERVER [--minutes 20] [--seed N] [--port 7790] [--keys 400] [--maxmemory 256mb [--policy allkeys-lru]]

Writers change strings, hashes, lists, sets, sorted sets and streams of 1 byte to 1 MB, a third of them with a time to
live; readers read slowly or not at all; others leave in the middle of a command; limits are changed by CONFIG SET.
A row is printed every ten seconds. At the end nobody is left, and the program ends with 1 unless

- resident memory is at most 1.25 times the live data (MEMORY USAGE of all keys, and the index) + 100 MB,
- DEBUG INTEGRITY finds index, log, collections and accounts in agreement,
- no writer met an unexpected error, and the server is alive.

With --maxmemory keys are evicted all the time. Then no write may be refused, and resident memory is at most 1.15 times
that + 64 MB at the end and in nine of ten rows; the others have a star.

For comparison, without a limit, the same keys are copied into a fresh server by DUMP and RESTORE: what they take where nothing happened before.
"""
import argparse, functools, multiprocessing, os, random, re, socket, struct, sys, time
from server import Server, encode

TYPES = "string", "hash", "list", "set", "zset", "stream"
LIMITS = {name: (0, 1, 16, 128, 512, 3000) for name in (
    "hash-max-listpack-entries", "hash-max-listpack-value", "set-max-intset-entries", "set-max-listpack-entries",
    "set-max-listpack-value", "zset-max-listpack-entries", "zset-max-listpack-value", "stream-node-max-entries")}
LIMITS["list-max-listpack-size"] = (-5, -2, -1, 1, 16, 128)
LIMITS["client-output-pause"] = ("64kb", "1mb", "256mb")
LIMITS["hll-sparse-max-bytes"] = (0, 100, 3000)


# What used and resident memory are made of (docs/memory.md).
PARTS = "log", "index", "blocks", "clients", "managed", "retired", "warm", "collector", "program"


class Client:
    """A connection that reads whole replies."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 300)
        self.file = self.socket.makefile("rb", buffering=1 << 20)

    def read(self):
        line = self.file.readline()
        if not line:
            raise EOFError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        return Exception(rest.decode()) if kind == b"-" else rest

    def pipeline(self, commands):
        self.socket.sendall(b"".join(encode([w if isinstance(w, bytes) else str(w).encode() for w in c]) for c in commands))
        return [self.read() for _ in commands]

    def call(self, *words):
        return self.pipeline([words])[0]

    def reset(self):
        """Leaves as a crashed program does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.file.close()
        self.socket.close()


class Sizes:
    """Random lengths, as many short as long ones by order of magnitude."""

    BYTES = os.urandom(1 << 20)

    def __init__(self, seed):
        self.random = random.Random(seed)

    def length(self, most):
        return min(most, int(2 ** self.random.uniform(0, most.bit_length() - 1)))

    def value(self, most):
        length = self.length(most)
        start = self.random.randrange(len(self.BYTES) - length + 1)
        return self.BYTES[start:start + length] if self.random.random() < 0.7 else b"%d" % self.random.randrange(10 ** 9)


def change(sizes, kind, key, keys):
    """One random command on a key of a type."""
    r, value = sizes.random, sizes.value
    member = lambda: value(2000) if r.random() < 0.5 else b"m%d" % r.randrange(1500)
    many = lambda make: [part for _ in range(sizes.length(64)) for part in make()]
    if kind == "string":
        return r.choice((
            lambda: ("SET", key, value(1 << 20)), lambda: ("SET", key, value(1 << 17), "EX", r.randrange(1, 60)),
            lambda: ("APPEND", key, value(1 << 14)), lambda: ("SETRANGE", key, r.randrange(1 << 16), value(1 << 12)),
            lambda: ("SETBIT", key, r.randrange(1 << 20), 1), lambda: ("GETDEL", key)))()
    if kind == "hash":
        return r.choice((
            lambda: ("HSET", key, *many(lambda: (b"f%d" % r.randrange(800), value(1 << 14)))),
            lambda: ("HSET", key, b"f%d" % r.randrange(800), value(1 << 20 if r.random() < 0.02 else 1 << 12)),
            lambda: ("HDEL", key, *many(lambda: (b"f%d" % r.randrange(800),))),
            lambda: ("HEXPIRE", key, r.randrange(1, 60), "FIELDS", 1, b"f%d" % r.randrange(800))))()
    if kind == "list":
        return r.choice((
            lambda: ("RPUSH", key, *many(lambda: (value(1 << 12),))), lambda: ("LPUSH", key, *many(lambda: (value(1 << 12),))),
            lambda: ("LPOP", key, sizes.length(64)), lambda: ("RPOP", key, sizes.length(64)),
            lambda: ("LTRIM", key, 0, 500), lambda: ("LSET", key, r.randrange(-50, 50), value(1 << 14)),
            lambda: ("LINSERT", key, "BEFORE", b"1", value(1 << 10))))()
    if kind == "set":
        return r.choice((
            lambda: ("SADD", key, *many(lambda: (member(),))), lambda: ("SREM", key, *many(lambda: (member(),))),
            lambda: ("SADD", key, *many(lambda: (r.randrange(10 ** 6),))), lambda: ("SPOP", key, sizes.length(512)),
            lambda: ("SUNIONSTORE", key, b"set:%d" % r.randrange(keys), b"set:%d" % r.randrange(keys))))()
    if kind == "zset":
        return r.choice((
            lambda: ("ZADD", key, *many(lambda: (r.choice((r.random(), r.randrange(10 ** 6))), member()))),
            lambda: ("ZREM", key, *many(lambda: (member(),))), lambda: ("ZPOPMIN", key, sizes.length(256)),
            lambda: ("ZINCRBY", key, 1.5, member()), lambda: ("ZREMRANGEBYRANK", key, 1000, -1)))()
    return r.choice((
        lambda: ("XADD", key, "*", *many(lambda: (b"f%d" % r.randrange(10), value(1 << 11)))),
        lambda: ("XADD", key, "MAXLEN", "~", 500, "*", b"f", value(1 << 12)), lambda: ("XTRIM", key, "MAXLEN", r.randrange(500)),
        lambda: ("XGROUP", "CREATE", key, "g", "0", "MKSTREAM"), lambda: ("XREADGROUP", "GROUP", "g", "c", "COUNT", 50, "STREAMS", key, ">")))()


EXPECTED = re.compile("WRONGTYPE|no such key|index out of range|BUSYGROUP|NOGROUP|OOM|proto-max-bulk-len|not an integer|objects are the same|value is out of range")


def write(port, seed, keys, end, errors, evicts=False):
    sizes, client = Sizes(seed), Client(port)
    while time.time() < end:
        batch = []
        for _ in range(sizes.length(64)):
            kind = sizes.random.choice(TYPES)
            key = b"%s:%d" % (kind.encode(), sizes.random.randrange(keys))
            drawn = sizes.random.random()
            if drawn < 0.01:
                batch.append(("DEL", key))
            elif drawn < 0.02:
                batch.append(("PEXPIRE", key, sizes.random.randrange(1, 60000)))
            elif drawn < 0.023:
                batch.append(("COPY", key, b"%s:%d" % (kind.encode(), sizes.random.randrange(keys)), "REPLACE"))
            else:
                batch.append(change(sizes, kind, key, keys))
        if sizes.random.random() < 0.1:
            batch = [("MULTI",), *batch, ("EXEC",)]
        for command, reply in zip(batch, client.pipeline(batch)):
            refused = evicts and "OOM" in str(reply)[:20] if isinstance(reply, Exception) else False
            if isinstance(reply, Exception) and (refused or not EXPECTED.search(str(reply))):
                errors.put(f"{command[:3]}: {reply}")


WHOLE = {"string": ("GET",), "hash": ("HGETALL",), "list": ("LRANGE", 0, -1), "set": ("SMEMBERS",),
         "zset": ("ZRANGE", 0, -1, "WITHSCORES"), "stream": ("XRANGE", "-", "+")}


def read_slowly(port, seed, keys, end, errors):
    """Asks for much and reads it late, in pieces, or leaves instead."""
    sizes = Sizes(seed)
    while time.time() < end:
        client = Client(port)
        words = []
        for _ in range(sizes.length(200)):
            kind = sizes.random.choice(TYPES)
            name, *rest = WHOLE[kind]
            words.append((name, b"%s:%d" % (kind.encode(), sizes.random.randrange(keys)), *rest))
        client.socket.sendall(b"".join(encode([w if isinstance(w, bytes) else str(w).encode() for w in c]) for c in words))
        time.sleep(sizes.random.uniform(0, 3))
        if sizes.random.random() < 0.3:
            client.reset()
            continue
        for _ in words:
            client.read()
        client.socket.close()


def vanish(port, seed, keys, end, errors):
    """Leaves in the middle of a command, of a value, of a wait."""
    sizes = Sizes(seed)
    while time.time() < end:
        clients = [Client(port) for _ in range(20)]
        for client in clients:
            drawn = sizes.random.random()
            if drawn < 0.3:
                wire = encode([b"SET", b"string:%d" % sizes.random.randrange(keys), sizes.value(1 << 20)])
                client.socket.sendall(wire[:sizes.random.randrange(len(wire))])
            elif drawn < 0.6:
                client.socket.sendall(encode([b"BLPOP", b"absent", b"0"]) + encode([b"SET", b"x", b"y"]) * sizes.length(5000))
            else:
                client.socket.sendall(encode([b"SUBSCRIBE"] + [b"channel:%d" % n for n in range(sizes.length(500))]))
        time.sleep(sizes.random.uniform(0, 0.5))
        for client in clients:
            client.reset()


def set_limits(port, seed, keys, end, errors):
    sizes, client = Sizes(seed), Client(port)
    while time.time() < end:
        name = sizes.random.choice(list(LIMITS))
        reply = client.call("CONFIG", "SET", name, sizes.random.choice(LIMITS[name]))
        if isinstance(reply, Exception):
            errors.put(f"{name}: {reply}")
        time.sleep(0.2)


def memory(client):
    return dict(line.split(":", 1) for line in client.call("INFO", "memory").decode().split("\r\n") if ":" in line)


def all_keys(client):
    cursor, found = b"0", []
    while True:
        cursor, names = client.call("SCAN", cursor, "COUNT", 1000)
        found += names
        if cursor == b"0":
            return sorted(set(found))


def live_bytes(client, keys):
    """What the server says of its keys one by one."""
    sizes = [client.call("MEMORY", "USAGE", key, "SAMPLES", 0) or 0 for key in keys]
    return sum(sizes)


def copy_to_fresh(command, port, client, keys):
    """(used, resident) of a fresh server with the same keys."""
    with Server(command, port) as fresh:
        other = Client(port)
        for key in keys:
            payload = client.call("DUMP", key)
            if payload is not None:
                reply = other.call("RESTORE", key, 0, payload)
                if isinstance(reply, Exception):
                    raise SystemExit(f"RESTORE {key}: {reply}")
        time.sleep(2)
        return int(memory(other)["used_memory"]), fresh.resident()


def settle(server, client):
    """Waits until resident memory has not fallen for ten seconds, a minute at most."""
    least, since, end = server.resident(), time.time(), time.time() + 60
    while time.time() - since < 10 and time.time() < end:
        time.sleep(1)
        if server.resident() < least * 0.99:
            least, since = server.resident(), time.time()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--port", type=int, default=7790)
    parser.add_argument("--keys", type=int, default=400, help="of each type")
    parser.add_argument("--transport", default="epoll")
    parser.add_argument("--maxmemory", help="a limit, at which keys are evicted")
    parser.add_argument("--policy", default="allkeys-lru")
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.keys} keys of each type, {given.minutes} minutes", flush=True)

    command = [given.server, "--enable-debug-command", "yes", "--transport", given.transport]
    if given.maxmemory:
        command += ["--maxmemory", given.maxmemory, "--maxmemory-policy", given.policy]
    with Server(command, given.port) as server:
        client, errors, start = Client(given.port), multiprocessing.Queue(), time.time()
        end = start + given.minutes * 60
        writes = functools.partial(write, evicts=True) if given.maxmemory else write
        workers = [multiprocessing.Process(target=work, args=(given.port, given.seed * 10 + n, given.keys, end, errors), daemon=True)
                   for n, work in enumerate((writes, writes, read_slowly, read_slowly, vanish, set_limits))]
        for worker in workers:
            worker.start()
        most = 1.15 * int(memory(client)["maxmemory"]) + 64 * 2 ** 20 if given.maxmemory else float("inf")
        rows, above = 0, 0
        print("      s   used MB   resident MB   clients   evicted" + "".join(f"{part:>10}" for part in PARTS),
              flush=True)
        while any(worker.is_alive() for worker in workers):
            time.sleep(10)
            found = memory(client)
            connected = re.search(rb"connected_clients:(\d+)", client.call("INFO", "clients"))[1].decode()
            evicted = re.search(rb"evicted_keys:(\d+)", client.call("INFO", "stats"))[1].decode()
            resident = server.resident()
            rows, above = rows + 1, above + (resident > most)
            used = int(found["used_memory"]) / 1e6
            parts = "".join(f"{int(found['kv_mem_' + part]) / 1e6:10.1f}" for part in PARTS)
            print(f"{time.time() - start:7.0f} {used:9.1f} {resident / 1e6:13.1f} {connected:>9} {evicted:>9}{parts}"
                  + (" *" if resident > most else ""), flush=True)
            if time.time() > end + 90:
                break

        settle(server, client)
        keys = all_keys(client)
        live, found, resident = live_bytes(client, keys), memory(client), server.resident()
        integrity = client.call("DEBUG", "INTEGRITY")
        index = int(found["kv_mem_index"])
        used, fresh = (0, 0) if given.maxmemory else copy_to_fresh(command, given.port + 1, client, keys)
        bound = most if given.maxmemory else 1.25 * (live + index) + 100e6
        if given.maxmemory:
            print(f"{above} of {rows} rows above {most / 1e6:.1f} MB, {evicted} keys evicted")
        print(f"{len(keys)} keys: live {live / 1e6:.1f} MB, index {index / 1e6:.1f}, used {int(found['used_memory']) / 1e6:.1f}, "
              f"resident {resident / 1e6:.1f} of at most {bound / 1e6:.1f}; a fresh server: used {used / 1e6:.1f}, resident {fresh / 1e6:.1f}")
        print(f"integrity: {integrity}; exit of workers: {[worker.exitcode for worker in workers]}")
        wrong = []
        while not errors.empty():
            wrong.append(errors.get())
        for line in wrong[:20]:
            print("unexpected:", line)
        if wrong or isinstance(integrity, Exception) or resident > bound or above > rows / 10 or any(worker.exitcode != 0 for worker in workers):
            sys.exit(1)


if __name__ == "__main__":
    main()
