"""Client-side caching with python3-redis: a connection with data, and one that listens (RESP2)."""
import sys
import redis

host, port = sys.argv[1], int(sys.argv[2])
pool = redis.ConnectionPool(host=host, port=port)
listener = pool.get_connection("_")
listener.send_command("CLIENT", "ID")
listener_id = listener.read_response()
listener.send_command("SUBSCRIBE", "__redis__:invalidate")
assert listener.read_response() == [b"subscribe", b"__redis__:invalidate", 1]

data = redis.Redis(host=host, port=port, single_connection_client=True)
other = redis.Redis(host=host, port=port)


def message():
    return listener.read_response()


assert data.client_getredir() == -1
assert data.client_tracking_on(clientid=listener_id)
assert data.client_getredir() == listener_id
other.set("k", "1")
assert data.get("k") == b"1"
other.incr("k")
assert message() == [b"message", b"__redis__:invalidate", [b"k"]]
assert data.mget("k", "m") == [b"2", None]
with other.pipeline() as pipe:
    pipe.set("m", "1").delete("k").execute()
assert sorted(message()[2] for _ in range(2)) == [[b"k"], [b"m"]]
assert data.client_tracking_off()
assert data.client_tracking_on(clientid=listener_id, bcast=True, prefix=["user:", "item:"], noloop=True)
info = data.client_trackinginfo()
assert b"bcast" in info[1] or "bcast" in str(info[1]), info
data.set("user:1", "own")
other.mset({"user:2": "x", "item:1": "y", "else": "z"})
assert sorted(message()[2] for _ in range(2)) == [[b"item:1"], [b"user:2"]]
other.flushall()
assert message() == [b"message", b"__redis__:invalidate", None]
try:
    data.client_tracking_on(bcast=True, prefix=["user"])
    raise SystemExit("overlapping prefixes were taken")
except redis.ResponseError as error:
    assert "overlaps with an existing prefix 'user:'" in str(error), error
print("ok")
