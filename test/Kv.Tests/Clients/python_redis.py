"""Drives a server through redis-py as an application does. Arguments: host port."""
import datetime
import sys
import threading

import redis

host, port = sys.argv[1], int(sys.argv[2])
r = redis.Redis(host=host, port=port, client_name="python")

assert r.ping()
assert r.client_getname() == "python"
assert r.set("k", b"\x00\r\n\xff") and r.get("k") == b"\x00\r\n\xff"
assert r.get("missing") is None
assert r.set("k", "1", nx=True) is None
assert r.set("n", 5, ex=datetime.timedelta(hours=1)) and 3590 < r.ttl("n") <= 3600
assert r.incr("n", 10) == 15 and r.decr("n") == 14 and r.incrbyfloat("f", 0.5) == 0.5
assert r.set("n", 1, get=True) == b"14" and r.ttl("n") == -1
assert r.mset({"a": 1, "b": 2}) and r.mget("a", "missing", "b") == [b"1", None, b"2"]
assert r.append("a", "x") == 2 and r.strlen("a") == 2 and r.getrange("a", 0, 0) == b"1"
assert r.setrange("a", 1, "yz") == 3 and r.get("a") == b"1yz"
assert r.getex("a", ex=100) == b"1yz" and r.persist("a") and r.getdel("a") == b"1yz"
assert r.exists("a", "b") == 1 and r.delete("b", "nothing") == 1 and r.unlink("f") == 1
assert r.expire("k", 100) and r.expiretime("k") > 0 if hasattr(r, "expiretime") else True
assert r.rename("k", "renamed") and r.copy("renamed", "copied") and r.type("copied") == b"string"
assert sorted(r.keys("*")) == [b"copied", b"n", b"renamed"] and r.dbsize() == 3
assert r.randomkey() in (b"copied", b"n", b"renamed")

with r.pipeline(transaction=False) as pipe:
    for i in range(10000):
        pipe.set(f"pipe:{i}", i)
    assert all(pipe.execute())
with r.pipeline(transaction=False) as pipe:
    for i in range(10000):
        pipe.get(f"pipe:{i}")
    assert pipe.execute() == [str(i).encode() for i in range(10000)]
assert len(set(r.scan_iter("pipe:*", count=100))) == 10000

big = bytes(range(256)) * 40000
assert r.set("big", big) and r.get("big") == big

info = r.info()
assert info["redis_version"] and info["role"] == "master" and info["db0"]["keys"] > 10000
assert r.config_get("maxmemory*")["maxmemory-policy"] == "noeviction"
assert any(c["name"] == "python" for c in r.client_list())
assert r.time()[0] > 1_600_000_000 and r.echo("x") == b"x"
assert "get" in r.command()
assert r.object("encoding", "n") == b"int" and r.memory_usage("big") > len(big)

try:
    r.incr("renamed")
    raise AssertionError("INCR of bytes that are no number must fail")
except redis.ResponseError as e:
    assert str(e) == "value is not an integer or out of range", e

got = []
p = r.pubsub(ignore_subscribe_messages=True)
p.subscribe("ch")
p.psubscribe("c*")
done = threading.Event()


def listen():
    for message in p.listen():
        got.append((message["type"], message["data"]))
        if len(got) == 4:
            done.set()
            return


# The confirmations must have come before anything is published.
while r.pubsub_numpat() < 1 or dict(r.pubsub_numsub("ch"))[b"ch"] < 1:
    pass
thread = threading.Thread(target=listen, daemon=True)
thread.start()
assert r.publish("ch", "one") == 2 and r.publish("ch", b"\x00two") == 2
assert done.wait(10), got
assert sorted(got) == sorted([("message", b"one"), ("pmessage", b"one"), ("message", b"\x00two"), ("pmessage", b"\x00two")]), got

other = redis.Redis(host=host, port=port, db=3)
assert other.get("n") is None and other.set("n", 3) and r.get("n") == b"1" and other.flushdb()
assert r.flushall() and r.dbsize() == 0
print("ok")
