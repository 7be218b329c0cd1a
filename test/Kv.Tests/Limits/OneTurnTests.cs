using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Limits;

/// <summary>What the commands of one transaction, or of one pipeline, let go of comes back before the last of
/// them.</summary>
/// <remarks>The figures are the store's account, whose peak is taken at each command that needs memory while there is a
/// limit. Each round ends with a command that waits until the store's thread has freed what it may.</remarks>
public sealed class OneTurnTests
{
    private const int Rounds = 18, PatienceMs = 60_000;
    private const long Megabyte = 1 << 20, Value = 16 * Megabyte, WaitingMax = 3 * Value;

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_transaction_frees_what_its_commands_have_replaced(string transport)
    {
        using var server = Start(transport);
        using var client = server.Connect(2, PatienceMs);
        client.Ok($"SETRANGE s {Value - 1} x");
        Check(server, client, 4, "BITOP NOT d s");
        Check(server, client, 4, "COPY s d REPLACE", "APPEND d y");
        Check(server, client, 3, "SETRANGE d 17000000 x", "DEL d");
        client.Ok("FLUSHALL");
        for (int from = 0; from < 300_000; from += 10_000)
            client.Ok($"SADD s {string.Join(' ', Enumerable.Range(from, 10_000).Select(i => $"member:{i}"))}");
        Check(server, client, 3, "SUNIONSTORE d s");
    }

    // Two strings of 2,050 take a table of 16 MB, which nobody else ever sees.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Tables_that_nobody_else_sees_do_not_wait_for_each_other(string transport)
    {
        using var server = Start(transport);
        using var client = server.Connect(2, PatienceMs);
        client.Ok($"SET a {new string('a', 2050)}");
        client.Ok($"SET b {new string('b', 2050)}");
        Check(server, client, 3, "LCS a b LEN");
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_pipeline_frees_what_its_commands_have_replaced(string transport)
    {
        using var server = Start(transport);
        using var client = server.Connect(2, PatienceMs);
        client.Ok($"SETRANGE s {Value - 1} x");
        server.Server.Store.ResetPeak();
        client.Send([.. Enumerable.Range(0, Rounds)
            .SelectMany(_ => new[] { "COPY s d REPLACE", "APPEND d y", "CATCHUP" }.SelectMany(RespText.Encode))]);
        for (int i = 0; i < Rounds; i++)
        {
            Assert.Equal(1, client.Read().Integer);
            Assert.Equal(Value + 1, client.Read().Integer);
            Assert.Equal("OK", client.Read().String);
        }

        Assert.InRange(server.Server.Store.PeakUsedBytes, 0, (6 * Value) + WaitingMax);
    }

    // What is made in a transaction may be too much: that costs the command, and the next one that needs none is done.
    [Fact]
    public void A_transaction_does_not_go_far_beyond_maxmemory()
    {
        using var server = KvInstance.Start("--maxmemory", "100mb", "--worker-threads", "1");
        using var client = server.Connect(2, PatienceMs);
        client.Ok($"SETRANGE s {Value - 1} x");
        client.Ok("MULTI");
        for (int i = 0; i < 12; i++) client.Ok($"BITOP NOT d{i} s");
        client.Ok("DEL d0");
        client.Ok("SET small v");
        var replies = client.Ok("EXEC").Items!;
        Assert.Equal(Value, replies[0].Integer);
        Assert.StartsWith("OOM", replies[11].String, StringComparison.Ordinal);
        Assert.Equal(1, replies[12].Integer);
        Assert.InRange(replies.Count(reply => reply.IsError), 5, 8);
        Assert.InRange(server.Server.Store.PeakUsedBytes, 0, 100 * Megabyte + Value + (8 * Megabyte));
    }

    private static KvInstance Start(string transport) => KvInstance.Start(
        new CommandTable([.. AllCommands.Table.All, new("CATCHUP", arity: 1, CatchUp)
        {
            Summary = "Waits for the store's thread.", Complexity = "O(1)", Since = "1.0.0",
            Group = CommandGroup.Server,
        }]),
        "--maxmemory", "4gb", "--worker-threads", "1", "--transport", transport);

    /// <summary>The store's thread frees large values, and on a busy machine it is far behind those who let go of them:
    /// this waits until it has freed what nothing but a turn that goes on could hold back.</summary>
    private static void CatchUp(ref CommandContext context)
    {
        var store = context.Session.Server.Store;
        Eventually.Holds(() => store.WaitingBytes < WaitingMax, () => $"{store.WaitingBytes / Megabyte} MB wait");
        context.Reply.WriteOk();
    }

    /// <summary>The commands many times in one transaction: no more is in use at any time than so many values'
    /// worth.</summary>
    private static void Check(KvInstance server, RespClient client, int values, params string[] lines)
    {
        client.Ok("MULTI");
        for (int i = 0; i < Rounds; i++)
            foreach (string line in lines.Append("CATCHUP")) client.Ok(line);
        server.Server.Store.ResetPeak();
        foreach (var reply in client.Ok("EXEC").Items!) Assert.False(reply.IsError, reply.String);
        // And what waited when a round began, and what its own commands let go of.
        Assert.True(server.Server.Store.PeakUsedBytes < ((values + lines.Length) * Value) + WaitingMax,
            $"{lines[0]}: {server.Server.Store.PeakUsedBytes / Megabyte} MB");
    }
}
