using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>maxmemory is looked at before each command that may need memory, not once for all that a client sends
/// together.</summary>
public class MemoryLimitTests
{
    private const string Oom = "-OOM command not allowed when used memory > 'maxmemory'.";

    [Fact]
    public void Of_commands_sent_together_those_past_the_limit_are_refused()
    {
        using var kv = KvInstance.Start("--maxmemory", "64mb", "--worker-threads", "1");
        using var client = kv.Connect();
        string[] commands = ["SETRANGE a 40000000 x", "SETRANGE b 40000000 x", "SETRANGE c 40000000 x",
            "SETRANGE d 40000000 x", "GET e", "SET e v", "SET e v EX 10", "GET e", "DEL a b c d"];
        client.Send([.. commands.SelectMany(command => RespText.Encode(command))]);
        string[] replies = [.. commands.Select(_ => client.Read().ToString())];
        Assert.Equal([":40000001", ":40000001", Oom, Oom, "$-1", Oom, Oom, "$-1", ":2"], replies);
        Assert.Equal(":0", client.Ok("DBSIZE").ToString());
    }

    // As Redis 7.4: what only reads is queued and run above the limit, too.
    [Fact]
    public void A_transaction_of_reads_runs_above_the_limit_and_one_that_needs_memory_does_not()
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var client = kv.Connect();
        client.Say("SETRANGE a 40000000 x\nSET k v\nCONFIG SET maxmemory 8mb\nMULTI\nGET k\nDEL k");
        Assert.Equal("[\"v\" :1]", client.Ok("EXEC").ToString());
        client.Say("MULTI\nSTRLEN a");
        Assert.Equal(Oom, client.Command("SET k v").ToString());
        Assert.StartsWith("-EXECABORT", client.Command("EXEC").ToString(), StringComparison.Ordinal);
        // What was queued before the limit was lowered.
        client.Say("CONFIG SET maxmemory 0\nMULTI\nSET k v");
        using var other = kv.Connect();
        other.Ok("CONFIG SET maxmemory 8mb");
        Assert.StartsWith("-EXECABORT Transaction discarded because of: OOM", client.Command("EXEC").ToString(),
            StringComparison.Ordinal);
    }
}
