"""Runs what libraries send as scripts, through redis-py; prints what came back. Arguments: host port."""
import sys
import threading

import redis
from redis.exceptions import LockError, LockNotOwnedError, NoScriptError, ResponseError

host, port = sys.argv[1], int(sys.argv[2])
r = redis.Redis(host=host, port=port)


def told(name, work):
    try:
        print(name, work())
    except (LockError, ResponseError) as error:
        print(name, type(error).__name__, error)


# redis-py's own lock: SET NX PX, and scripts that release, extend and reacquire it.
lock = r.lock("lock", timeout=6000)
told("acquire", lambda: lock.acquire())
told("again", lambda: r.lock("lock", timeout=60).acquire(blocking=False))
told("locked", lock.locked)
told("owned", lock.owned)
told("extend", lambda: lock.extend(6000))
told("extended", lambda: 11000 < r.ttl("lock") <= 12000)
told("replace", lambda: lock.extend(3000, replace_ttl=True))
told("replaced", lambda: 2000 < r.ttl("lock") <= 3000)
told("reacquire", lock.reacquire)
told("stolen", lambda: r.set("lock", "other"))
told("release", lock.release)
told("there", lambda: r.get("lock"))
r.delete("lock")

# Many threads under one lock: none is lost.
count = 0


def add():
    global count
    connection = redis.Redis(host=host, port=port)
    for _ in range(20):
        with connection.lock("many", timeout=6000, sleep=0.001):
            before = count
            connection.ping()
            count = before + 1


threads = [threading.Thread(target=add) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("under the lock", count, r.exists("many"))

# A sliding window: so many in a time, by a sorted set.
limiter = r.register_script("""
    local key, now, window, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
    local used = redis.call('ZCARD', key)
    if used < most then
        redis.call('ZADD', key, now, ARGV[4])
        redis.call('PEXPIRE', key, window * 100000)
        return {1, most - used - 1}
    end
    local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    return {0, oldest[2] + window - now}
""")
for i in range(12):
    told("limit", lambda: limiter(keys=["window"], args=[1000 + i * 30, 200, 4, f"call{i}"]))

# A bucket of tokens, as gateways have it: two keys, numbers that are not whole.
bucket = r.register_script("""
    local tokens_key = KEYS[1]
    local timestamp_key = KEYS[2]
    local rate, capacity, now, requested = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
    local ttl = math.floor(capacity / rate * 2000)
    local last_tokens = tonumber(redis.call('get', tokens_key)) or capacity
    local last = tonumber(redis.call('get', timestamp_key)) or 0
    local filled = math.min(capacity, last_tokens + math.max(0, now - last) * rate)
    local allowed = filled >= requested
    local new = filled
    local number = 0
    if allowed then new = filled - requested number = 1 end
    if ttl > 0 then
        redis.call('setex', tokens_key, ttl, new)
        redis.call('setex', timestamp_key, ttl, now)
    end
    return { number, new, tostring(new) }
""")
for i in range(8):
    told("bucket", lambda: bucket(keys=["b.tokens", "b.time"], args=[1.5, 4, 100 + i // 3, 1]))
told("kept", lambda: [r.get("b.tokens"), r.get("b.time")])

# Redlock: released, and extended, by who has it.
release = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"
extend = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end"
r.set("red", "me", nx=True, px=6000000)
for who in ("you", "me", "me"):
    told("extend", lambda: r.eval(extend, 1, "red", who, 5000000))
    told("release", lambda: r.eval(release, 1, "red", who))

# A web framework's cache: fields of one hash, with absolute and sliding expiry.
cache_set = r.register_script("""
    redis.call('HSET', KEYS[1], 'absexp', ARGV[1], 'sldexp', ARGV[2], 'data', ARGV[4])
    if ARGV[3] ~= '-1' then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
    return 1
""")
cache_get = r.register_script("""
    local result = redis.call('HMGET', KEYS[1], 'absexp', 'sldexp', 'data')
    if result[3] and result[2] ~= '-1' then redis.call('EXPIRE', KEYS[1], tonumber(result[2]) / 10000000) end
    return result
""")
told("set", lambda: cache_set(keys=["page"], args=[-1, 60000000000, 6000, b"\x00\xffbytes\r\n"]))
told("get", lambda: cache_get(keys=["page"]))
told("expires", lambda: 5000 < r.ttl("page") <= 6000)
told("missing", lambda: cache_get(keys=["nothing"]))

# Scripts in pipelines, and scripts that the server has forgotten.
counter = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
with r.pipeline() as pipe:
    pipe.set("p", 1)
    counter(keys=["p"], args=[41], client=pipe)
    pipe.get("p")
    print("pipeline", pipe.execute())
r.script_flush()
told("forgotten", lambda: counter(keys=["p"], args=[1]))
told("exists", lambda: r.script_exists(counter.sha, "0" * 40))
try:
    r.evalsha("0" * 40, 0)
except NoScriptError as error:
    print("none", error)
told("error", lambda: r.eval("return redis.call('INCR', KEYS[1])", 1, "page"))
told("own error", lambda: r.eval("return redis.error_reply('LIMIT too much')", 0))

# A queue of jobs by keys that are computed, as BullMQ has it.
move = r.register_script("""
    local prefix = KEYS[1]
    local id = redis.call('RPOPLPUSH', prefix .. ':wait', prefix .. ':active')
    if not id then return false end
    local job = prefix .. ':' .. id
    redis.call('HSET', job, 'processedOn', ARGV[1])
    redis.call('XADD', prefix .. ':events', '1-*', 'event', 'active', 'jobId', id)
    return {redis.call('HGETALL', job), id}
""")
add_job = r.register_script("""
    local id = redis.call('INCR', KEYS[1] .. ':id')
    redis.call('HMSET', KEYS[1] .. ':' .. id, 'name', ARGV[1], 'data', ARGV[2], 'opts', cjson.encode({attempts = 3}))
    redis.call('LPUSH', KEYS[1] .. ':wait', id)
    return id .. ''
""")
for i in range(3):
    told("add", lambda: add_job(keys=["{q}"], args=["mail", '{"n":%d}' % i]))
for i in range(4):
    told("move", lambda: move(keys=["{q}"], args=[5000 + i]))
print("events", [fields for _, fields in r.xrange("{q}:events")])
print("ok")
