using Kv.Storage;
using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Collections;

/// <summary>Every kind of value, deleted in every way there is: what is charged is what records hold, and in the end
/// nothing.</summary>
public sealed class FreedMemoryTests
{
    private static string Each(int count, Func<int, string> element) =>
        string.Join(' ', Enumerable.Range(0, count).Select(element));

    /// <summary>How each kind is made at k, and how its last elements go.</summary>
    private static readonly (string Name, string[] Make, string Empty)[] s_kinds =
    [
        ("a short string", ["SET k v"], "GETDEL k"),
        ("an integer", ["SET k 12345"], "GETDEL k"),
        ("a string with room", ["APPEND k abc", $"APPEND k {new string('x', 2000)}"], "GETDEL k"),
        ("a string in a block", [$"SET k {new string('x', 200_000)}"], "GETDEL k"),
        ("a bitmap in a block", ["SETBIT k 4000000 1"], "GETDEL k"),
        ("a sketch", [$"PFADD k {Each(1000, i => $"e{i}")}"], "GETDEL k"),
        ("a packed list", ["RPUSH k a b c"], "LPOP k 3"),
        ("a large list", [$"RPUSH k {Each(3000, i => $"element{i}")}", "LINSERT k AFTER element700 new"],
            "LPOP k 100000"),
        ("a list of long elements", [$"RPUSH k a {new string('x', 100_000)} b {new string('y', 9000)}"], "LTRIM k 1 0"),
        ("a packed hash", ["HSET k f v g w"], "HDEL k f g"),
        ("a large hash", [$"HSET k {Each(1500, i => $"f{i} v{i}")}"], $"HDEL k {Each(1500, i => $"f{i}")}"),
        ("a hash of a long value", [$"HSET k f {new string('x', 100_000)} g v"], "HDEL k f g"),
        ("a set of integers", ["SADD k 1 2 3"], "SPOP k 3"),
        ("a packed set", ["SADD k a b 3"], "SREM k a b 3"),
        ("a large set", [$"SADD k {Each(3000, i => $"m{i}")}", $"SREM k {Each(2000, i => $"m{i}")}"], "SPOP k 100000"),
        ("a packed sorted set", ["ZADD k 1 a 2 b"], "ZPOPMIN k 2"),
        ("a large sorted set", [$"ZADD k {Each(3000, i => $"{i % 100} m{i}")}"], "ZREMRANGEBYRANK k 0 -1"),
        ("a hash whose fields expire", [$"HSET k {Each(700, i => $"f{i} v{i}")}", "HEXPIRE k 1000 FIELDS 2 f1 f2"],
            $"HDEL k {Each(700, i => $"f{i}")}"),
        ("a short stream", ["XADD k * f v", "XGROUP CREATE k g 0", "XREADGROUP GROUP g c STREAMS k >"], "DEL k"),
        ("a long stream", ["XADD k 1-1 f v", .. Enumerable.Range(2, 600)
            .Select(i => $"XADD k {i}-0 field{i} value{i} other {new string('x', i)}")], "UNLINK k"),
        ("places", [$"GEOADD k {Each(300, i => $"{i % 180} {i % 85} m{i}")}"], "ZREMRANGEBYSCORE k -inf +inf"),
    ];

    /// <summary>Each way, as commands; "empty" stands for the removal of the last elements.</summary>
    public static TheoryData<string> Ways =>
    [
        "DEL k", "UNLINK k", "empty", "GETDEL k; DEL k", "SET k other; DEL k", "SET k 1 EX 100; DEL k",
        "MSET a 1 k 2; DEL a k", "SETEX k 100 v; FLUSHALL",
        "PEXPIRE k 1", "PEXPIREAT k 1", "EXPIRE k -1", "PEXPIRE k 1; PERSIST k; UNLINK k", "FLUSHALL", "FLUSHALL ASYNC",
        "FLUSHDB", "FLUSHDB ASYNC",
        "SWAPDB 0 1; SELECT 1; FLUSHDB; SELECT 0", "SWAPDB 0 1; FLUSHALL", "SET o v; RENAME o k; DEL k",
        "RENAME k l; DEL l", "SADD o a; RENAME k o; empty o", "RENAME k k; DEL k",
        "COPY k l; DEL k; DEL l", "COPY k l; empty; UNLINK l", "SET o v; COPY o k REPLACE; DEL o k",
        "COPY k l; COPY k l REPLACE; FLUSHALL", "COPY k k DB 3; DEL k; SELECT 3; empty; SELECT 0",
        "MOVE k 2; SELECT 2; DEL k; SELECT 0", "MOVE k 2; SWAPDB 0 2; empty", "SUNIONSTORE k missing",
        "ZUNIONSTORE k 1 missing", "SDIFFSTORE k missing o", "BITOP OR k missing",
        "MULTI; DEL k; SET k v; DEL k; EXEC", "MULTI; COPY k l; RENAME l k; empty; EXEC; DEL k",
        "WATCH k; MULTI; FLUSHALL; EXEC",
    ];

    [Theory, MemberData(nameof(Ways))]
    public void Nothing_is_charged_when_all_is_deleted_by(string way)
    {
        using var server = KvInstance.Start();
        using var client = new WindowClient(server);
        Store store = server.Server.Store;
        string[] lines = way.Split("; ");
        foreach (var (name, make, empty) in s_kinds)
        {
            foreach (string line in make) Assert.DoesNotContain("-ERR", client.Run(line), StringComparison.Ordinal);
            CheckCharged(store, $"{name} is made");
            foreach (string line in lines)
            {
                client.Run(line switch { "empty" => empty,
                    "empty o" => empty.Replace(" k", " o", StringComparison.Ordinal), _ => line });
                if (!lines.Contains("MULTI")) CheckCharged(store, $"{name}: {line}");
            }

            // What has expired goes when somebody looks.
            while (way == "PEXPIRE k 1" && client.Run("EXISTS k") != ":0\r\n") { }
            CheckNothing(store, $"{name}, {way}");
        }

        CheckNoLog(client, store);
    }

    // Nobody looks: the sweep finds them, in two databases.
    [Fact]
    public void Nothing_is_charged_when_all_has_expired()
    {
        using var server = KvInstance.Start();
        using var client = new WindowClient(server);
        Store store = server.Server.Store;
        for (int i = 0; i < 2 * s_kinds.Length; i++)
        {
            client.Run($"SELECT {i % 2}");
            foreach (string line in s_kinds[i / 2].Make) client.Run(line);
            client.Run($"PEXPIRE k {1 + (i % 5)}");
            client.Run($"RENAME k {i}");
        }

        CheckNothing(store, "all have expired");
        client.Run("SELECT 0");
        CheckNoLog(client, store);
    }

    private static void CheckNothing(Store store, string when)
    {
        // What is deleted is freed when nobody can look at it any more.
        Eventually.Holds(
            () =>
            {
                store.Maintain();
                return store.Budget.BlockBytes == 0
                    && Enumerable.Range(0, 16).All(database => store.Count(database) == 0);
            },
            () => $"{when}: {store.Budget.BlockBytes} bytes of blocks are charged, {store.Count(0)} keys are there");
        store.CheckIntegrity();
    }

    private static void CheckNoLog(WindowClient client, Store store)
    {
        client.Run("FLUSHALL");
        Eventually.Holds(
            () =>
            {
                store.Maintain();
                return store.Budget.LogBytes == 0;
            },
            () => $"{store.Budget.LogBytes} bytes of log are charged");
    }

    private static void CheckCharged(Store store, string when)
    {
        // What waits to be freed is charged still, for an epoch.
        Eventually.Holds(
            () =>
            {
                store.Maintain();
                return store.CheckBlocks() == store.Budget.BlockBytes;
            },
            () => $"{when}: {store.Budget.BlockBytes} bytes are charged, {store.CheckBlocks()} are held");
    }
}
