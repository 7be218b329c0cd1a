#!/usr/bin/env python3
"""All attacks at once on a server with little memory and few descriptors: it stays, within its bounds, and nothing is left of them.

    storm.py KV_SERVER [--minutes 10 | --rounds N] [--transport epoll] [--attacks name,...] [--seed N]

Starts the server with `maxmemory 200mb` after `ulimit -n 1024`. The attacks, each in processes of its own: strangers who take all connections,
floods of bytes that are no commands, patterns that take long, readers that do not read, clients that make it keep things (subscriptions,
watched keys, queues of transactions, arguments that never end) and leave, messages that nobody reads, commands over very many elements,
writers past the limit, kills and limits that change. Beside them one client asks for a key again and again. Passes when

- the process is alive, and its log tells of no exception,
- resident memory was never over 1.15 * the higher of maxmemory and used_memory of the last ten seconds, + 64 MB + 32 for the program,
- the client beside was always served, and got the value that it had written,
- at the end, with the attackers gone: no client but one, no subscription, no watched key, nobody who waits, nobody who lingers, descriptors
  as at the start; after FLUSHALL used_memory is that of the start + 16 MB, and DEBUG INTEGRITY finds everything in agreement.
"""
import argparse, collections, multiprocessing, os, random, re, resource, socket, sys, time
from server import Server, encode
from soak import Client

MAXMEMORY = 200 << 20
OWN_BYTES = (64 + 32) << 20


def words(*given):
    return encode([w if isinstance(w, bytes) else str(w).encode() for w in given])


class Attacker(Client):
    """A client that may be refused, cut off, or not listened to."""

    def __init__(self, port, receives=None, seconds=30):
        self.socket = socket.socket()
        if receives:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        self.socket.settimeout(seconds)
        self.socket.connect(("127.0.0.1", port))
        self.file = self.socket.makefile("rb", buffering=1 << 16)

    def pour(self, data, seconds):
        """Sends as much as the server takes in that time, and reads nothing."""
        self.socket.setblocking(False)
        sent, end = 0, time.time() + seconds
        while sent < len(data) and time.time() < end:
            try:
                sent += self.socket.send(data[sent:sent + (1 << 16)])
            except BlockingIOError:
                time.sleep(0.01)
        self.socket.settimeout(30)


def leave(clients):
    for client in clients:
        client.reset() if random.random() < 0.5 else (client.file.close(), client.socket.close())


def crowd(port):
    """Strangers who open what they can, and some who say goodbye and stay."""
    strangers = []
    for n in range(1100):
        stranger = socket.socket()
        stranger.settimeout(5)
        strangers.append(stranger)
        stranger.connect(("127.0.0.1", port))
        if n % 3 == 0:
            stranger.sendall((b"QUIT\r\n", b"*1\r\n$1\r\n", b"PING\r\n")[n // 3 % 3])
    time.sleep(random.uniform(0, 1))
    for stranger in strangers:
        stranger.close()
    time.sleep(random.uniform(0, 8))        # or nobody else would get in


def flood(port):
    """Connections that begin with something else than a command."""
    for _ in range(200):
        stranger = socket.create_connection(("127.0.0.1", port), 5)
        stranger.sendall(random.choice((b"POST / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00", b"*-2\r\n", b"*1\r\n:4\r\n", os.urandom(200), b"*2147483648\r\n")))
        stranger.close()


def patterns(port):
    client = Attacker(port)
    pattern = b"*" + b"a" * 500 + b"*" + b"b" * 500
    client.pipeline([("MSET", *[part for n in range(20) for part in (b"a" * 1000 + b"%d" % n, b"v")]), ("KEYS", pattern), ("SCAN", 0, "MATCH", pattern, "COUNT", 10000)])
    subscriber = Attacker(port)
    subscriber.pipeline([("PSUBSCRIBE", pattern)])
    client.pipeline([("PUBLISH", b"a" * 100000, b"x" * 100000), ("PUBSUB", "CHANNELS", pattern)])
    leave((client, subscriber))


def unread(port):
    """Much is asked for, in pipelines and in one reply, by who reads nothing or late."""
    keys = Attacker(port)
    keys.pipeline([("SET", b"unread:value", os.urandom(60000)), ("SET", b"unread:block", os.urandom(500000)), ("DEL", "unread:list")])
    keys.pipeline([("RPUSH", "unread:list", *[os.urandom(1000) for _ in range(1000)]) for _ in range(5)])
    clients = [keys] + [Attacker(port, receives=4096) for _ in range(10)]
    for client in clients[1:]:
        client.pour(random.choice((words("GET", "unread:value") * 1000, words("GET", "unread:block") * 100, words("LRANGE", "unread:list", 0, -1) * 10,
                                   words("MULTI") + words("LRANGE", "unread:list", 0, -1) * 10 + words("EXEC"))), 0.3)
    time.sleep(random.uniform(0, 1))
    leave(clients)


def keep(port):
    """Makes the server keep things, then leaves."""
    clients = []
    long = b"x" * random.choice((10, 100, 1000))
    for _ in range(6):
        client = Attacker(port)
        clients.append(client)
        many = lambda count: [b"%d:%s" % (random.randrange(10 ** 6), long) for _ in range(count)]
        client.pour(random.choice((
            lambda: b"".join(words(random.choice(("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")), *many(1000)) for _ in range(10)),
            lambda: words("WATCH", *many(10000)),
            lambda: words("BLPOP", *many(4000), 0) + words("SET", "behind", os.urandom(1000)) * random.randrange(5000),
            lambda: words("XREAD", "BLOCK", 0, "STREAMS", *many(4000), *["$"] * 4000),
            lambda: words("MULTI") + words("SET", "queued", os.urandom(1000)) * 10000,
            lambda: words("MULTI") + words("PING") * 100000,
            lambda: b"*1000000\r\n$3\r\nDEL\r\n" + b"$1\r\na\r\n" * 500000,
            lambda: b"*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$300000000\r\n" + bytes(10000000)))(), 1)
    time.sleep(random.uniform(0, 1))
    leave(clients)


def messages(port):
    subscribers = [Attacker(port, receives=4096) for _ in range(10)]
    for client in subscribers:
        client.socket.sendall(words("HELLO", 3) + words("SUBSCRIBE", "storm") + words("PSUBSCRIBE", "st*") + words("LRANGE", "unread:list", 0, -1))
    publisher = Attacker(port)
    for size in (10, 1000, 100000, 2000000):
        publisher.pipeline([("PUBLISH", "storm", os.urandom(size))] * min(1000, 4000000 // size))
    leave(subscribers + [publisher])


def pauses(port):
    """Clients that leave while others hold them up."""
    clients = [Attacker(port) for _ in range(20)]
    clients[0].call("CLIENT", "PAUSE", random.randrange(200), random.choice(("WRITE", "ALL")))
    for client in clients[1:]:
        client.pour(words("MSET", *[b"paused", b"x" * 6000] * 100) + words("GET", "paused") * 100, 0.1)
    leave(clients)


def long_commands(port):
    client = Attacker(port)
    members = [b"%d" % n for n in range(20000)]
    scored = [part for n, member in enumerate(members) for part in (n, member)]
    placed = [part for n, member in enumerate(members) for part in (n % 360 - 180 + 0.5, n % 170 - 85, member)]
    client.pipeline([("SADD", "long:set", *members), ("ZADD", "long:sorted", *scored), ("GEOADD", "long:geo", *placed), ("RPUSH", "long:list", *members),
                     ("SET", "long:a", os.urandom(2000)), ("SET", "long:b", os.urandom(2000)), ("SETRANGE", "long:bits", 5000000, b"x")])
    client.pipeline(random.sample([
        ("SUNIONSTORE", "long:union", "long:set", "long:set"), ("ZUNIONSTORE", "long:sum", 2, "long:sorted", "long:set"), ("SORT", "long:list", "ALPHA", "STORE", "long:by"),
        ("GEOSEARCHSTORE", "long:near", "long:geo", "FROMLONLAT", 0, 0, "BYRADIUS", 20000, "km"), ("LCS", "long:a", "long:b", "LEN"), ("BITOP", "NOT", "long:not", "long:bits"),
        ("COPY", "long:sorted", "long:copy", "REPLACE"), ("ZRANGESTORE", "long:range", "long:sorted", 0, -1), ("CLIENT", "LIST"), ("KEYS", "*"), ("INFO", "everything"),
        ("MGET", *members), ("DEL", *members), ("LREM", "long:list", 0, "none"), ("SRANDMEMBER", "long:set", -20000), ("DEBUG", "OBJECT", "long:set")], 8))
    client.pipeline([("MULTI",), *[("ZCARD", "long:sorted"), ("APPEND", "long:bits", b"x" * 1000)] * 2000, ("EXEC",)])
    client.pipeline([("UNLINK", "long:set", "long:sorted", "long:geo", "long:list", "long:bits", "long:union", "long:sum", "long:by", "long:near", "long:not", "long:copy", "long:range")])
    leave((client,))


def writers(port):
    """Past the limit: refused sometimes, and room again when something was deleted."""
    client = Attacker(port)
    for _ in range(20):
        size = int(2 ** random.uniform(3, 20))
        client.pipeline([("SET", b"written:%d" % random.randrange(3000), os.urandom(size), *random.choice(((), ("PX", random.randrange(1, 20000)))))
                         for _ in range(max(1, min(500, 1000000 // size)))])
        client.pipeline([("DEL", b"written:%d" % random.randrange(3000)) for _ in range(100)])
    leave((client,))


def changes(port):
    client = Attacker(port)
    client.pipeline([("CONFIG", "SET", *random.choice((
        ("max-reply-bytes", random.choice(("1mb", "10mb", "1gb"))), ("client-output-buffer-limit", random.choice(("normal 0 0 0", "normal 4mb 1mb 1", "pubsub 1mb 0 0"))),
        ("client-output-pause", random.choice(("64kb", "1mb", "4mb"))), ("client-query-buffer-limit", random.choice(("4mb", "1gb"))), ("timeout", random.choice((0, 1, 1000))),
        ("multi-queue-limit", random.choice(("1mb", "64mb"))), ("maxmemory", random.choice(("100mb", "200mb"))))))])
    if random.random() < 0.2:
        client.pipeline([("CLIENT", "KILL", "TYPE", random.choice(("normal", "pubsub")), "SKIPME", "yes")])
    client.pipeline([("MEMORY", "USAGE", "unread:list"), ("PUBSUB", "NUMPAT"), ("CLIENT", "LIST")])
    leave((client,))
    time.sleep(0.5)


ATTACKS = [crowd, flood, patterns, unread, keep, messages, pauses, long_commands, writers, changes]


def attack(one, port, seed, end, rounds):
    random.seed(seed)
    done = 0
    while done < rounds if rounds else time.time() < end:
        done += 1
        try:
            one(port)
        except (OSError, EOFError, ValueError):
            time.sleep(0.05)        # refused, cut off, killed: so it goes


def steady(port, end, found, failures):
    """Somebody who has nothing to do with it. The limits may refuse the connection or the write, never a reply."""
    client, number, longest, silent = None, 0, 0.0, 0
    while time.time() < end:
        try:
            client = client or Attacker(port, seconds=10)
            number += 1
            value, begin = b"%d" % number, time.time()
            reply = client.call("SET", "steady", value)
            if reply == b"OK" and client.call("GET", "steady") != value:
                failures.put(f"{value} was written, and something else read")
            longest, silent = max(longest, time.time() - begin), 0
            time.sleep(0.01)
        except (OSError, EOFError, ValueError) as error:
            silent += isinstance(error, TimeoutError)       # once may be that all of this was stopped for a while
            if silent == 3:
                failures.put("a client that asked for a key was not answered three times in 10 s")
            client = None
            time.sleep(0.05)
        found.value = longest


def information(client):
    return dict(line.split(":", 1) for line in client.call("INFO", "everything").decode().split("\r\n") if ":" in line)


def connect(port):
    """An administrator, who has places of his own. Tries so many times, not so long: all of this may be stopped for a while."""
    reason = ""
    for _ in range(600):
        client = None
        try:
            client = Attacker(port, seconds=5)
            information(client)
            return client
        except (OSError, EOFError, ValueError, TypeError, AttributeError) as error:
            reason = repr(error)        # the error itself would keep the connection
            if client:
                client.file.close()
                client.socket.close()
            time.sleep(0.1)
    raise SystemExit(f"the server answers nobody: {reason}")


LEFT = ("blocked_clients", "pubsub_channels", "pubsub_patterns", "pubsubshard_channels", "pubsub_clients", "watching_clients", "total_watched_keys", "kv_lingering_connections",
        "clients_in_timeout_table", "kv_mem_messages", "mem_clients_normal")


def left(server, client, descriptors, used):
    """What there is that should not be."""
    now = information(client)
    wrong = [f"{name} is {now[name]}" for name in LEFT if now.get(name, "0") != "0"]
    if now["connected_clients"] not in "12":      # this one, and that of the server's starter unless it was killed
        wrong.append(f"{now['connected_clients']} clients:\n{client.call('CLIENT', 'LIST').decode()}")
    if len(os.listdir(f"/proc/{server.pid}/fd")) > descriptors + 24:
        wrong.append(f"{len(os.listdir(f'/proc/{server.pid}/fd'))} descriptors, {descriptors} at the start")
    if int(now["used_memory"]) > used + (16 << 20):
        wrong.append(f"used_memory is {now['used_memory']}, {used} at the start")
    if server.resident() > 1.15 * MAXMEMORY + OWN_BYTES:
        wrong.append(f"{server.resident()} bytes are resident")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=0, help="of each attack, instead of minutes")
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--port", type=int, default=7795)
    parser.add_argument("--transport", default="epoll")
    parser.add_argument("--attacks", default=",".join(one.__name__ for one in ATTACKS))
    given = parser.parse_args()
    print(f"seed {given.seed}, {f'{given.rounds} rounds' if given.rounds else f'{given.minutes} minutes'}, {given.transport}", flush=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    log = f"storm-{given.port}.log"
    command = ["bash", "-c", 'ulimit -n 1024; exec "$@"', "storm", given.server, "--logfile", log, "--maxmemory", str(MAXMEMORY), "--transport", given.transport,
               "--enable-debug-command", "yes", "--client-output-pause", "4mb"]
    open(log, "w").close()
    failures, longest = multiprocessing.Queue(), multiprocessing.Value("d")
    with Server(command, given.port) as server:
        client = connect(given.port)
        descriptors, used, start = len(os.listdir(f"/proc/{server.pid}/fd")), int(information(client)["used_memory"]), time.time()
        end = start + (3600 if given.rounds else given.minutes * 60)
        attackers = [multiprocessing.Process(target=attack, args=(one, given.port, given.seed * 100 + n, end, given.rounds), daemon=True)
                     for n, one in enumerate(one for one in ATTACKS if one.__name__ in given.attacks.split(","))]
        beside = multiprocessing.Process(target=steady, args=(given.port, end, longest, failures), daemon=True)
        for attacker in attackers + [beside]:
            attacker.start()
        wrong, recent, shown, peak = [], collections.deque(maxlen=100), 0, 0
        print("      s   used MB   resident MB   clients   descriptors   longest round trip beside, ms", flush=True)
        while time.time() < end + 60 and any(attacker.is_alive() for attacker in attackers):
            time.sleep(0.1)
            if server.process.poll() is not None:
                raise SystemExit(f"the server has ended: {server.process.returncode}; see {log}")
            try:
                now = information(client)
            except (OSError, EOFError, ValueError, AttributeError):
                client = connect(given.port)
                continue
            recent.append(int(now["used_memory"]))
            resident, bound = server.resident(), 1.15 * max(MAXMEMORY, *recent) + OWN_BYTES
            peak = max(peak, resident)
            if resident > bound and len(wrong) < 20:
                wrong.append(f"{resident / 1e6:.1f} MB are resident, {bound / 1e6:.1f} allowed, after {time.time() - start:.0f} s")
            if time.time() - shown > 10:
                shown = time.time()
                print(f"{time.time() - start:7.0f} {int(now['used_memory']) / 1e6:9.1f} {resident / 1e6:13.1f} {now['connected_clients']:>9} "
                      f"{len(os.listdir(f'/proc/{server.pid}/fd')):>13} {longest.value * 1000:32.0f}", flush=True)

        for attacker in attackers + [beside]:
            attacker.kill()
        client = connect(given.port)
        for option, value in (("maxmemory", MAXMEMORY), ("timeout", 0), ("max-reply-bytes", "1gb"), ("client-output-buffer-limit", "normal 0 0 0")):
            client.call("CONFIG", "SET", option, value)
        client.call("CLIENT", "UNPAUSE")
        client.call("FLUSHALL")
        until = time.time() + 60
        while (still := left(server, client, descriptors, used)) and time.time() < until:
            time.sleep(1)
        integrity = client.call("DEBUG", "INTEGRITY")
        wrong += still + ([f"integrity: {integrity}"] if isinstance(integrity, Exception) else [])
        now = information(client)
        print(f"peak {peak / 1e6:.1f} MB resident; at the end {server.resident() / 1e6:.1f} MB resident, {int(now['used_memory']) / 1e6:.1f} used ({used / 1e6:.1f} at the start), "
              f"{now['total_connections_received']} connections, {now['total_commands_processed']} commands, {now['rejected_connections']} refused, "
              f"{now['client_output_buffer_limit_disconnections']} closed at limits; integrity {integrity}; the longest round trip beside {longest.value * 1000:.0f} ms")
    while not failures.empty():
        wrong.append(failures.get())
    wrong += [line.strip() for line in open(log) if re.search("xception|critical", line)][:20]
    for line in wrong:
        print("unexpected:", line)
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
