using System.Globalization;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>rdb_changes_since_last_save counts what Redis counts: each command here and there, one after the
/// other.</summary>
public class ChangeCountTests
{
    // A line is a command on one connection. Each is followed by a look at the counter of both.
    private const string Strings = """
        SET a 1
        SET a 2 NX
        SET b 1 XX
        SET a 3 GET
        SET a 3 NX GET
        SET c 1 PX 100000
        SET c 1 PXAT 1
        SETNX a 1
        SETNX d 1
        SETEX e 100 v
        PSETEX f 100000 v
        GETSET g 1
        GETDEL g
        GETDEL g
        GETEX a
        GETEX a EX 100
        GETEX a PERSIST
        GETEX a PERSIST
        GETEX a PXAT 1
        GETEX nope EX 10
        SET a 1
        APPEND a 2
        APPEND new 3
        APPEND a ""
        SETRANGE a 0 ""
        SETRANGE a 0 xx
        SETRANGE nonew 3 ""
        SET n 5
        INCR n
        DECRBY n 3
        INCRBY n 0
        INCRBYFLOAT n 1.5
        INCRBYFLOAT e 1
        LPUSH a x
        MSET m1 1 m2 2 m3 3
        MSET m1 1
        MSETNX m1 1 m9 2
        MSETNX m7 1 m8 2
        MSETNX m1 1
        SETBIT bits 7 1
        SETBIT bits 7 1
        SETBIT bits 7 0
        SETBIT bits 100 0
        SETBIT newbits 3 0
        BITFIELD bits GET u8 0
        BITFIELD bits SET u8 0 5 INCRBY u4 8 1
        BITFIELD bits SET u8 0 5
        BITFIELD bits INCRBY u8 0 0
        BITFIELD bits OVERFLOW FAIL INCRBY u2 0 9
        BITFIELD bits SET u8 4000 0
        BITFIELD bfnew GET u8 0
        BITOP AND bd bits newbits
        BITOP NOT bd bits
        BITOP AND bd nokey nokey2
        BITOP AND bd nokey nokey2
        PFADD h1 a b c
        PFADD h1 a b
        PFADD h1
        PFADD h2
        PFADD h2 x
        PFADD h2 x y
        PFCOUNT h1
        PFCOUNT h1
        PFCOUNT h1 h2
        PFMERGE h3 h1 h2
        PFDEBUG GETREG h1
        PFADD h1 q1 q2 q3 q4 a
        """;

    private const string Keys = """
        MSET a 1 m1 1 m2 2 m3 3 d 1 e 1
        DEL a nope m1
        UNLINK m2 m3
        DEL nope
        EXPIRE d 100
        EXPIRE d 100 NX
        EXPIRE nope 1
        PEXPIREAT d 1
        SET d 1
        EXPIRE d -1
        SET d 1 EX 100
        PERSIST d
        PERSIST d
        RENAME d d2
        RENAME d2 d2
        RENAMENX d2 e
        RENAMENX d2 d3
        RENAMENX d3 d3
        COPY d3 d4
        COPY d3 d4
        COPY d3 d4 REPLACE
        COPY nope d4
        MOVE d4 1
        MOVE d3 1
        MOVE nope 1
        SWAPDB 0 1
        SWAPDB 1 0
        RPUSH l2 5 2 3
        SORT l2
        SORT l2 STORE sl
        SORT nol STORE sl
        SORT nol STORE sl
        TOUCH l2
        MULTI
        SET t 1
        SADD ts a b
        DEL nope
        LPOP nope 3
        EXEC
        MULTI
        GET t
        EXEC
        EVAL "redis.call('set','q','1'); redis.call('sadd','qs',1,2,3); redis.call('del','nope')" 0
        EVAL "return redis.pcall('incr','qs')" 0
        EVAL "return 1" 0
        FUNCTION LOAD "#!lua name=lib\nredis.register_function('f', function() return redis.call('incr','fc') end)"
        FUNCTION LOAD "#!lua name=lib\nredis.register_function('f', function() return redis.call('incr','fc') end)"
        FCALL f 0
        FUNCTION DELETE lib
        FUNCTION DELETE lib
        FUNCTION FLUSH
        PUBLISH ch m
        SET e 1 PX 1
        DEBUG SLEEP 0.01
        GET e
        SET e 1 PX 1
        DEBUG SLEEP 0.01
        DEL e
        CLIENT REPLY SKIP
        SADD skipped a b c
        FLUSHDB
        FLUSHDB
        SET a 1
        SELECT 3
        SET b 1
        FLUSHALL
        FLUSHALL
        MSET a 1 b 2
        FLUSHDB ASYNC
        """;

    private const string Lists = """
        LPUSH l a b c
        RPUSH l d
        LPUSHX l e f
        LPUSHX nol e f
        RPUSHX l g
        LINSERT l BEFORE a q
        LINSERT l BEFORE zz q
        LINSERT nol BEFORE a q
        LSET l 0 r
        LSET l 99 r
        LREM l 0 zz
        RPUSH l a a a
        LREM l 2 a
        LTRIM l 0 -1
        LTRIM l 1 4
        LPOP l
        LPOP nol
        LPOP l 2
        LPOP l 0
        RPOP l 99
        RPUSH l 1 2 3 4
        RPOPLPUSH l l2
        RPOPLPUSH nol l2
        LMOVE l l LEFT RIGHT
        LMOVE l l LEFT LEFT
        LMOVE l l2 LEFT RIGHT
        LMPOP 2 nol l LEFT COUNT 2
        LMPOP 1 nol LEFT
        BLPOP nol l2 0.01
        BRPOP nol 0.01
        BLMOVE l2 l LEFT LEFT 0.01
        BRPOPLPUSH l l2 0.01
        RPUSH l 1 2 3
        BLMPOP 0.01 1 l RIGHT COUNT 2
        LTRIM l2 5 1
        LTRIM nol 5 1
        """;

    private const string Collections = """
        SADD s a b c
        SADD s a d
        SADD s a
        SADD s2 x a
        SREM s zz
        SREM s d zz
        SMOVE s s2 a
        SMOVE s s2 b
        SMOVE s s2 zz
        SMOVE s s c
        SADD s 1 2 3 4 5 6
        SPOP s
        SPOP s 2
        SPOP s 0
        SPOP nos
        SPOP nos 3
        SPOP s 99
        SADD s a b c 1
        SUNIONSTORE sd s s2
        SINTERSTORE sd s s2
        SDIFFSTORE sd s s2
        SINTERSTORE sd s nos
        SINTERSTORE sd s nos
        SDIFFSTORE sd nos s
        HSET hh a 1 b 2
        HSET hh a 1
        HSET hh a 1 c 3
        HMSET hh a 1 d 4
        HSETNX hh a 1
        HSETNX hh z 1
        HINCRBY hh a 0
        HINCRBYFLOAT hh a 1.5
        HDEL hh zz
        HDEL hh a b zz
        ZADD z 1 a 2 b 3 c
        ZADD z 1 a
        ZADD z 2 a 5 d
        ZADD z NX 9 a
        ZADD z XX 9 q
        ZADD z CH 9 a 3 b
        ZADD z GT 1 a
        ZADD z INCR 0 a
        ZADD z NX INCR 1 a
        ZADD z INCR 1 a
        ZINCRBY z 0 a
        ZINCRBY z 1 a
        ZREM z zz
        ZREM z a zz
        ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
        ZREMRANGEBYRANK z 0 0
        ZREMRANGEBYSCORE z 100 200
        ZREMRANGEBYSCORE z 2 3
        ZREMRANGEBYLEX z (zz +
        ZREMRANGEBYLEX noz - +
        ZPOPMIN z
        ZPOPMAX z 2
        ZPOPMIN noz
        ZPOPMIN z 0
        ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
        ZMPOP 1 z MIN COUNT 2
        ZMPOP 1 noz MIN
        BZPOPMIN z 0.01
        BZPOPMAX z 0.01
        BZMPOP 0.01 1 z MIN
        BZPOPMIN noz 0.01
        ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
        ZUNIONSTORE zd 1 z
        ZINTERSTORE zd 2 z zd
        ZDIFFSTORE zd 2 z noz
        ZDIFFSTORE zd 2 z z
        ZDIFFSTORE zd 2 z z
        ZRANGESTORE zd z 0 -1
        ZRANGESTORE zd z 90 100
        ZRANGESTORE zd z 90 100
        GEOADD geo 13.36 38.11 P 15.08 37.50 C
        GEOADD geo 13.36 38.11 P
        GEOADD geo 13.38 38.11 P
        GEOADD geo CH 13.37 38.11 P
        GEOSEARCHSTORE gd geo FROMMEMBER P BYRADIUS 500 km
        GEOSEARCHSTORE gd geo FROMLONLAT 0 0 BYRADIUS 1 m
        GEOSEARCHSTORE gd geo FROMLONLAT 0 0 BYRADIUS 1 m
        GEORADIUS geo 15 37 200 km STORE gd
        GEORADIUS geo 15 37 200 km
        GEORADIUSBYMEMBER geo P 500 km STOREDIST gd
        GEORADIUS nogeo 15 37 200 km STORE gd
        GEORADIUS nogeo 15 37 200 km STORE gd
        """;

    private const string Streams = """
        XADD x 1-1 f v
        XADD x 1-2 f v
        XADD x 1-3 f v
        XADD nox NOMKSTREAM 1-3 f v
        XADD x MAXLEN 3 1-4 f v
        XADD x MAXLEN 0 1-5 f v
        XADD x 2-1 f v
        XADD x 2-2 f v
        XADD x 2-3 f v
        XADD x 2-4 f v
        XADD x 2-5 f v
        XDEL x 2-1 9-9
        XDEL x 9-9
        XTRIM x MAXLEN 3
        XTRIM x MAXLEN 3
        XSETID x 9-9
        XGROUP CREATE x g 0
        XGROUP CREATE x g 0
        XGROUP CREATE mkx g 0 MKSTREAM
        XGROUP SETID x g 0
        XGROUP CREATECONSUMER x g c1
        XGROUP CREATECONSUMER x g c1
        XREADGROUP GROUP g c1 COUNT 2 STREAMS x >
        XREADGROUP GROUP g c2 COUNT 2 STREAMS x >
        XREADGROUP GROUP g c2 COUNT 2 STREAMS x >
        XREADGROUP GROUP g c2 COUNT 2 STREAMS x 0
        XREADGROUP GROUP g c3 COUNT 2 STREAMS x 0
        XREADGROUP GROUP g c4 STREAMS x >
        XADD x 10-1 f v
        XADD x 10-2 f v
        XREADGROUP GROUP g c5 NOACK STREAMS x >
        XADD x 11-1 f v
        XADD x 11-2 f v
        XREADGROUP GROUP g c5 STREAMS x mkx > >
        XREADGROUP GROUP g c5 STREAMS x 0
        XACK x g 2-3 2-4
        XACK x g 2-3 2-4
        XCLAIM x g c1 0 2-5
        XCLAIM x g c1 0 2-5 11-1 JUSTID
        XCLAIM x g c1 99999999 2-5
        XCLAIM x g c9 0 99-99
        XCLAIM x g c10 0 10-1 FORCE
        XAUTOCLAIM x g c2 0 0
        XAUTOCLAIM x g c2 99999999 0
        XDEL x 2-5
        XAUTOCLAIM x g c2 0 0
        XAUTOCLAIM x g c2 0 0 JUSTID
        XGROUP DELCONSUMER x g c2
        XGROUP DELCONSUMER x g c99
        XGROUP DESTROY x g
        XGROUP DESTROY x g
        XREADGROUP GROUP g c4 BLOCK 5 STREAMS mkx >
        """;

    [Theory]
    [InlineData(Strings)]
    [InlineData(Keys)]
    [InlineData(Lists)]
    [InlineData(Collections)]
    [InlineData(Streams)]
    public void Each_command_counts_as_in_Redis(string commands)
    {
        foreach (int version in new[] { 2, 3 })
        {
            using var kv = KvInstance.Start("--enable-debug-command", "yes");
            using var redis = RedisServer.Start();
            using var ours = kv.Connect(version);
            using var theirs = redis.Connect(version);
            using RespClient ourLook = kv.Connect(), theirLook = redis.Connect();
            var different = new StringBuilder();
            long before = Count(ourLook), theirsBefore = Count(theirLook);
            bool isSilent = false;
            foreach (string line in commands.Split('\n', StringSplitOptions.RemoveEmptyEntries))
            {
                bool skips = line.StartsWith("CLIENT REPLY SKIP", StringComparison.Ordinal);
                ours.Send(line);
                theirs.Send(line);
                if (!isSilent && !skips)
                {
                    ReadOf(ours, line);
                    ReadOf(theirs, line);
                }

                if (isSilent)
                {
                    ours.Command("PING");
                    theirs.Command("PING");
                }

                isSilent = skips;
                long now = Count(ourLook), theirsNow = Count(theirLook);
                if (now - before != theirsNow - theirsBefore)
                    different.AppendLine(CultureInfo.InvariantCulture,
                        $"{line}: {now - before}, not {theirsNow - theirsBefore}");
                (before, theirsBefore) = (now, theirsNow);
            }

            Assert.Equal("", different.ToString());
        }
    }

    /// <summary>Reads the reply of a line that was sent. A library has half a second to load, in the reference as here:
    /// on a busy machine it is sent again.</summary>
    // Ends: when the machine has that half second for it.
    private static void ReadOf(RespClient client, string line)
    {
        while (client.Read() is { IsError: true } error
            && error.ToString().Contains("timeout", StringComparison.Ordinal)) client.Send(line);
    }

    [Fact]
    public void What_is_done_in_steps_and_by_who_waits_counts_as_much()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        using var look = kv.Connect();
        using var waiting = kv.Connect();
        string many = string.Join(' ', Enumerable.Range(0, 20_000));
        string pairs = string.Join(' ', Enumerable.Range(0, 20_000).Select(i => $"k{i} v"));
        string scores = string.Join(' ', Enumerable.Range(0, 20_000).Select(i => $"{i} m{i}"));
        Assert.Equal(20_000, CountOf($"SADD s {many}"));
        Assert.Equal(20_000, CountOf($"RPUSH l {many}"));
        Assert.Equal(20_000, CountOf($"HSET h {pairs}"));
        Assert.Equal(20_000, CountOf($"ZADD z {scores}"));
        Assert.Equal(20_000, CountOf($"MSET {pairs}"));
        Assert.Equal(1, CountOf("SUNIONSTORE sd s s"));
        Assert.Equal(1, CountOf("ZUNIONSTORE zd 1 z"));
        Assert.Equal(15_000, CountOf("SPOP s 15000"));
        Assert.Equal(15_000, CountOf("LPOP l 15000"));
        Assert.Equal(15_000, CountOf("ZPOPMIN z 15000"));
        Assert.Equal(4_000, CountOf("LMPOP 1 l LEFT COUNT 4000"));
        Assert.Equal(20_000, CountOf("SORT sd STORE sorted"));
        Assert.Equal(19_990, CountOf("LTRIM sorted 0 9"));
        Assert.Equal(20_000, CountOf($"DEL {string.Join(' ', Enumerable.Range(0, 20_000).Select(i => $"k{i}"))}"));
        kv.Block(waiting, "BLMPOP 0 1 wl LEFT COUNT 3");
        // Three come, and three are taken.
        Assert.Equal(6, CountOf("RPUSH wl a b c", waiting));
        kv.Block(waiting, "BLPOP wl 0");
        Assert.Equal(2, CountOf("RPUSH wl a", waiting));
        client.Ok("MULTI");
        client.Ok($"SADD ms {many}");
        client.Ok("SPOP ms 15000");
        Assert.Equal(35_000, CountOf("EXEC"));
        Assert.Equal(0, CountOf("CONFIG RESETSTAT"));

        long CountOf(string command, RespClient? served = null)
        {
            long before = Count(look);
            client.Ok(command);
            served?.Read();
            return Count(look) - before;
        }
    }

    private static long Count(RespClient client) =>
        long.Parse(client.Info("rdb_changes_since_last_save"), CultureInfo.InvariantCulture);
}
