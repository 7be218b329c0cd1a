"""The package index that apt keeps, as SET commands; and back, compared byte for byte.

    packages.py write FILE               writes one SET a package, as a client sends it
    packages.py verify FILE HOST PORT    asks the server for each key of FILE through python3-redis
"""
import glob
import os
import subprocess
import sys


def index():
    """All records, from apt's lists or what it can print of them; empty where there is no apt."""
    texts = []
    for path in sorted(glob.glob("/var/lib/apt/lists/*_Packages")):
        with open(path, "rb") as f:
            texts.append(f.read())
    if not texts:
        try:
            texts.append(subprocess.run(["apt-cache", "dumpavail"], stdout=subprocess.PIPE, check=False).stdout)
        except FileNotFoundError:
            pass
    return [record for text in texts for record in text.split(b"\n\n") if record.strip()]


def field(record, name):
    for line in record.split(b"\n"):
        if line.startswith(name + b": "):
            return line[len(name) + 2:]
    return b""


def packages(limit):
    """Pairs of key and record. A package that has several versions is keyed name=version."""
    records = index()[:limit]
    names = {}
    for record in records:
        name = field(record, b"Package")
        names[name] = names.get(name, 0) + 1
    found = {}
    for record in records:
        name = field(record, b"Package")
        key = name if names[name] == 1 else name + b"=" + field(record, b"Version")
        found[b"package:" + key] = record
    return found.items()


def write(path):
    count = size = 0
    with open(path, "wb") as f:
        for key, value in packages(int(os.environ.get("LIMIT", "10000000"))):
            f.write(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value))
            count, size = count + 1, size + len(value)
    if count == 0:
        print("apt keeps no package index here (apt-get update makes one)", file=sys.stderr)
        sys.exit(3)
    print("%d packages, %d bytes of records" % (count, size))


def read(path):
    with open(path, "rb") as f:
        while f.readline():
            f.readline(), f.readline()
            key = f.read(int(f.readline()[1:]))
            f.read(2)
            value = f.read(int(f.readline()[1:]))
            f.read(2)
            yield key, value


def verify(path, host, port):
    import redis

    client = redis.Redis(host=host, port=int(port))
    pairs = list(read(path))
    for at in range(0, len(pairs), 500):
        part = pairs[at:at + 500]
        for (key, value), got in zip(part, client.mget([key for key, _ in part])):
            if got != value:
                sys.exit("python3-redis: %r came back different" % key)
    print("python3-redis: %d records are equal" % len(pairs))


if sys.argv[1] == "write":
    write(sys.argv[2])
else:
    verify(*sys.argv[2:5])
