"""Random keys of all types, with times or without, in several databases; a seed gives the same ones each time.

    fill.py PORT KEYS [SEED]
"""
import random
import sys
import time

import redis

PORT, KEYS, SEED = int(sys.argv[1]), int(sys.argv[2]), int((sys.argv + ["0"])[3])
DATABASES = 4
RANDOM = random.Random(SEED)
NOW = int(time.time() * 1000)


def text():
    """A number, a word, some bytes, something long, or something that can be compressed."""
    kind = RANDOM.randrange(5)
    if kind == 0:
        return str(RANDOM.choice((1, -1)) * RANDOM.getrandbits(RANDOM.randrange(1, 63)))
    if kind == 1:
        return "word%d" % RANDOM.randrange(100_000)
    if kind == 2:
        return RANDOM.randbytes(RANDOM.randrange(40))
    if kind == 3:
        return RANDOM.randbytes(RANDOM.choice((63, 64, 65, 255, 256, 4_000)))
    return "abc" * RANDOM.randrange(1, 100)


def size():
    """Mostly few; sometimes more than a packed form takes."""
    return RANDOM.choice((1, 2, 5, 20, 20, 130, 600) if RANDOM.randrange(20) == 0 else (1, 2, 5, 20))


def texts():
    return [text() for _ in range(size())]


def add(pipe, key):
    kind = RANDOM.randrange(8)
    if kind == 0:
        pipe.set(key, text())
    elif kind == 1:
        pipe.rpush(key, *texts())
    elif kind == 2:
        pipe.hset(key, mapping={"f%d" % field: value for field, value in enumerate(texts())})
    elif kind == 3:
        pipe.sadd(key, *texts())
    elif kind == 4:
        pipe.sadd(key, *(RANDOM.randrange(-10 ** RANDOM.randrange(1, 18), 10 ** 9) for _ in range(size())))
    elif kind == 5:
        pipe.zadd(key, {value: RANDOM.choice((0, -1.5, 3, 1e300, 0.1)) for value in texts()})
    elif kind == 6:
        for entry in range(1, size() + 1):
            pipe.xadd(key, {"field": text(), "other": text()}, id="%d-%d" % (entry, RANDOM.randrange(5)))
        pipe.xgroup_create(key, "group", id="0")
        pipe.xreadgroup("group", "somebody", {key: ">"}, count=3)
    else:
        pipe.pfadd(key, *texts())
    if RANDOM.randrange(4) == 0:
        pipe.pexpireat(key, NOW + RANDOM.randrange(10 ** 8, 10 ** 10))


def main():
    for database in range(DATABASES):
        client = redis.Redis(port=PORT, db=database)
        pipe = client.pipeline(transaction=False)
        for number in range(database, KEYS, DATABASES):
            key = "key:%d:%d" % (SEED, number)
            add(pipe, key)
            if len(pipe) >= 1_000:
                pipe.execute()
        pipe.execute()


main()
