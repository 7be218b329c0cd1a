using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>maxmemory is looked at before each command that may need memory, not once for all that a client sends together.</summary>
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
}
