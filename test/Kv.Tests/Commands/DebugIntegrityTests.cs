using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>DEBUG INTEGRITY stops all clients, walks everything, and says what is held outside of the log, or what is
/// wrong.</summary>
public sealed class DebugIntegrityTests
{
    [Fact]
    public void It_counts_blocks_and_large_collections_while_others_write()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--worker-threads", "2");
        using var client = kv.Connect();
        client.Ok("SET small 1");
        Assert.Equal(":0", client.Ok("DEBUG INTEGRITY").ToString());
        client.Ok($"SET large {new string('v', 100_000)}");
        Assert.InRange(Integrity(client), 100_000, 200_000);

        using var others = new TestThreads();
        others.Start(() =>
        {
            using var writer = kv.Connect();
            for (int i = 0; !others.IsStopping; i = (i + 1) % 1000)
            {
                writer.Ok($"HSET hash field:{i} {new string('v', i)}");
                writer.Ok($"SET string:{i % 10} {i} PX 1");
                writer.Ok($"SETRANGE large {i * 100} v");
            }
        });
        for (int i = 0; i < 50; i++) Assert.InRange(Integrity(client), 100_000, 100_000_000);
    }

    [Fact]
    public void It_is_refused_in_a_transaction_which_has_stopped_all_others_itself()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("MULTI");
        client.Ok("DEBUG INTEGRITY");
        Assert.StartsWith("-ERR DEBUG INTEGRITY is not for a transaction", client.Ok("EXEC").Items![0].ToString(),
            StringComparison.Ordinal);
        Assert.Equal(":0", client.Ok("DEBUG INTEGRITY").ToString());
    }

    private static long Integrity(RespClient client)
    {
        string reply = client.Ok("DEBUG INTEGRITY").ToString();
        return long.Parse(reply[1..], System.Globalization.CultureInfo.InvariantCulture);
    }
}
