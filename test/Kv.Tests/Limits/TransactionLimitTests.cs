using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>What a client may queue and watch: so much, and not one more.</summary>
public sealed class TransactionLimitTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Past_multi_queue_limit_the_queue_is_refused_and_what_it_held_comes_back(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--multi-queue-limit", "1mb");
        using var client = server.Connect();
        client.Ok("SET k before");
        long before = server.Server.Store.UsedBytes;
        // A queued command takes some more than its bytes: ten of 100,000 fit, eleven do not.
        string line = $"SET k {new string('v', 100_000)}";
        client.Ok("MULTI");
        for (int i = 0; i < 10; i++) Assert.Equal("QUEUED", client.Ok(line).String);
        Assert.Equal("ERR transaction queue is larger than multi-queue-limit", client.Command(line).String);
        Assert.StartsWith("EXECABORT", client.Command("EXEC").String, StringComparison.Ordinal);
        Assert.Equal("before", client.Ok("GET k").String);
        client.Ok("MULTI");
        for (int i = 0; i < 10; i++) client.Ok(line);
        Assert.Equal(10, client.Ok("EXEC").Items!.Count);
        client.Ok("SET k before");
        Eventually.Holds(() => server.Server.Store.UsedBytes < before + (512 << 10),
            () => $"{server.Server.Store.UsedBytes - before} bytes are left charged");
    }

    // Many commands of few bytes are bounded by the same limit: each has its place in the list.
    [Fact]
    public void Commands_of_few_bytes_are_not_free()
    {
        using var server = KvInstance.Start("--multi-queue-limit", "64kb");
        using var client = server.Connect();
        client.Ok("MULTI");
        int queued = 0;
        // Ends: at the limit.
        while (!client.Command("PING").IsError) Assert.True(++queued < 4000, "4,000 commands are in 64 KB");
        Assert.StartsWith("EXECABORT", client.Command("EXEC").String, StringComparison.Ordinal);
    }

    [Fact]
    public void Past_watch_limit_no_key_more_is_watched()
    {
        using var server = KvInstance.Start("--watch-limit", "3");
        Transcript.Run(server, """
            > WATCH a b c
            < +OK
            > WATCH d
            < -ERR too many watched keys
            b> SET d 1
            b< +OK
            > MULTI
            < +OK
            > GET d
            < +QUEUED
            > EXEC
            < ["1"]
            > WATCH a b c d
            < -ERR too many watched keys
            > WATCH a
            < +OK
            b> SET a 1
            b< +OK
            > MULTI
            < +OK
            > EXEC
            < nil[]
            """, resp: 2);
    }
}
