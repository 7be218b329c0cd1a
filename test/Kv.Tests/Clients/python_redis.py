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

r.set("moved", "v", px=100000)
assert r.migrate(host, port, ["moved", "nothing"], 5, 5000) == b"OK" and r.migrate(host, port, "nothing", 5, 5000) == b"NOKEY"
assert redis.Redis(host=host, port=port, db=5).getdel("moved") == b"v" and not r.exists("moved")

with r.pipeline(transaction=False) as pipe:
    for i in range(10000):
        pipe.set(f"pipe:{i}", i)
    assert all(pipe.execute())
with r.pipeline(transaction=False) as pipe:
    for i in range(10000):
        pipe.get(f"pipe:{i}")
    assert pipe.execute() == [str(i).encode() for i in range(10000)]
assert len(set(r.scan_iter("pipe:*", count=100))) == 10000

assert r.rpush("l", "b", "c", 1) == 3 and r.lpush("l", "a") == 4 and r.lpushx("l", "0") == 5 and r.rpushx("none", "x") == 0
assert r.lrange("l", 0, -1) == [b"0", b"a", b"b", b"c", b"1"] and r.llen("l") == 5 and r.lindex("l", -1) == b"1" and r.lindex("l", 9) is None
assert r.lset("l", 0, "z") and r.linsert("l", "before", "b", "ab") == 6 and r.lrem("l", 1, "z") == 1 and r.lpos("l", "b") == 2
assert r.lpos("l", "b", count=0) == [2] and r.lpos("l", "q") is None and r.lmove("l", "l2", "LEFT", "RIGHT") == b"a" and r.rpoplpush("l", "l2") == b"1"
assert r.lpop("l") == b"ab" and r.rpop("l", 2) == [b"c", b"b"] and r.lpop("l") is None and not r.exists("l")
assert r.ltrim("l2", 0, 0) and r.lrange("l2", 0, -1) == [b"1"] and r.delete("l2") == 1
assert r.rpush("long", *range(20000)) == 20000 and r.lindex("long", 12345) == b"12345" and r.lrange("long", 9999, 10001) == [b"9999", b"10000", b"10001"]
assert r.lrem("long", 0, 777) == 1 and r.ltrim("long", 100, -101) and r.llen("long") == 19799 and r.lindex("long", 700) == b"801"

assert r.xadd("x", {"a": 1}, id="1-1") == b"1-1" and r.xadd("x", {"a": 2, "b": "c"}, id="1-*") == b"1-2" and r.xlen("x") == 2
assert r.xrange("x") == [(b"1-1", {b"a": b"1"}), (b"1-2", {b"a": b"2", b"b": b"c"})] and r.xrevrange("x", count=1)[0][0] == b"1-2"
assert r.xgroup_create("x", "g", 0) and r.xreadgroup("g", "c", {"x": ">"}, count=1) == [[b"x", [(b"1-1", {b"a": b"1"})]]]
assert r.xpending("x", "g") == {"pending": 1, "min": b"1-1", "max": b"1-1", "consumers": [{"name": b"c", "pending": 1}]}
assert r.xpending_range("x", "g", "-", "+", 10)[0]["times_delivered"] == 1 and r.xclaim("x", "g", "d", 0, ["1-1"], justid=True) == [b"1-1"]
assert r.xautoclaim("x", "g", "c", 0, justid=True) == [b"1-1"] and r.xack("x", "g", "1-1") == 1
assert r.xread({"x": "1-1"}, block=1000)[0][1][0][0] == b"1-2" and r.xread({"x": "$"}, block=1) == [] and r.xinfo_groups("x")[0]["lag"] == 1
assert r.xinfo_stream("x")["length"] == 2 and len(r.xinfo_consumers("x", "g")) == 2
assert r.xdel("x", "1-1") == 1 and r.xtrim("x", maxlen=0, approximate=False) == 1 and r.delete("x") == 1

assert r.zadd("z", {"a": 1, "b": 2.5, "c": float("inf")}) == 3 and r.zcard("z") == 3
assert r.zadd("z", {"a": 5}, gt=True, ch=True) == 1 and r.zadd("z", {"n": 1}, xx=True) == 0 and r.zadd("z", {"a": 1}, incr=True) == 6.0
assert r.zscore("z", "b") == 2.5 and r.zscore("z", "q") is None and r.zmscore("z", ["a", "q"]) == [6.0, None]
assert r.zrange("z", 0, -1, withscores=True) == [(b"b", 2.5), (b"a", 6.0), (b"c", float("inf"))]
assert r.zrange("z", "(2.5", "+inf", byscore=True, offset=0, num=1) == [b"a"] and r.zrevrange("z", 0, 0) == [b"c"]
assert r.zrangebyscore("z", 2, 6) == [b"b", b"a"] and r.zrevrangebyscore("z", "inf", 6, withscores=True) == [(b"c", float("inf")), (b"a", 6.0)]
assert r.zrank("z", "a") == 1 and r.zrevrank("z", "a") == 1 and r.zrank("z", "q") is None and r.zcount("z", 0, 10) == 2
assert r.zincrby("z", -4, "a") == 2.0 and r.zrem("z", "c", "q") == 1
assert r.zunionstore("u", {"z": 2, "missing": 1}, aggregate="MAX") == 2 and r.zscore("u", "a") == 4.0
assert r.zinter(["z", "u"], withscores=True) == [(b"a", 6.0), (b"b", 7.5)] and r.zdiff(["z", "u"]) == [] and r.zrangestore("w", "z", 0, 0) == 1
assert r.zadd("lex", {"a": 0, "b": 0, "c": 0}) == 3 and r.zrangebylex("lex", "[b", "+") == [b"b", b"c"] and r.zlexcount("lex", "-", "(c") == 2
assert r.zpopmin("z") == [(b"a", 2.0)] and r.zpopmax("lex", 2) == [(b"c", 0.0), (b"b", 0.0)] and r.zrandmember("lex") == b"a"
assert r.zremrangebyrank("u", 0, 0) == 1 and r.zremrangebyscore("u", 0, 100) == 1 and not r.exists("u")
assert r.zadd("many", {f"m{i}": i for i in range(5000)}) == 5000 and r.zrank("many", "m4321") == 4321
assert sorted(r.zscan_iter("many", count=100)) == sorted((f"m{i}".encode(), float(i)) for i in range(5000))

assert r.geoadd("geo", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")) == 2 and r.geodist("geo", "Palermo", "Catania", "km") == 166.2742
assert r.geohash("geo", "Palermo", "x") == ["sqc8b49rny0", None] and [round(c, 4) for c in r.geopos("geo", "Catania")[0]] == [15.0873, 37.5027]
assert r.geosearch("geo", longitude=15, latitude=37, radius=200, unit="km", sort="ASC", withdist=True) == [[b"Catania", 56.4413], [b"Palermo", 190.4424]]
assert r.geosearchstore("near", "geo", member="Palermo", width=10, height=10, unit="km") == 1 and r.georadius("geo", 15, 37, 100, "km") == [b"Catania"]

# Transactions: pipelines are MULTI and EXEC by default, and WATCH as the client's documentation has it.
with r.pipeline() as pipe:
    pipe.set("t", 1).incr("t").get("t").append("t", "x").incr("t")
    result = pipe.execute(raise_on_error=False)
    assert result[:4] == [True, 2, b"2", 2] and isinstance(result[4], redis.ResponseError), result
with r.pipeline() as pipe:
    for i in range(3000):
        pipe.set(f"pipe:{i}", i)
        pipe.get(f"pipe:{i}")
    assert pipe.execute()[1::2] == [str(i).encode() for i in range(3000)]
with r.pipeline() as pipe:
    pipe.watch("t")
    before = pipe.get("t")
    r.set("t", "changed meanwhile")
    pipe.multi()
    pipe.set("t", before + b"!")
    try:
        pipe.execute()
        raise AssertionError("EXEC must fail: the key has changed")
    except redis.WatchError:
        pass
    pipe.watch("t")
    before = pipe.get("t")
    pipe.multi()
    pipe.set("t", before + b"!")
    assert pipe.execute() == [True]
assert r.get("t") == b"changed meanwhile!"


def add(pipe):
    count = int(pipe.get("count") or 0)
    pipe.multi()
    pipe.set("count", count + 1)


def add_many():
    mine = redis.Redis(sys.argv[1], int(sys.argv[2]))
    for _ in range(100):
        mine.transaction(add, "count")


adders = [threading.Thread(target=add_many) for _ in range(3)]
for adder in adders:
    adder.start()
for adder in adders:
    adder.join()
assert r.get("count") == b"300", r.get("count")
with r.pipeline() as pipe:
    pipe.execute_command("NOSUCH")
    pipe.set("t", "not to be")
    try:
        pipe.execute()
        raise AssertionError("EXEC must fail: a command was refused")
    except redis.ResponseError:
        pass
assert r.get("t") == b"changed meanwhile!"

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
