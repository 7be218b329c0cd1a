namespace Kv.Tests.Commands;

/// <summary>maxmemory is looked at before each command that may need memory, not once for all that a client sends together.</summary>
public class MemoryLimitTests
{
    private const string Oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

    [Fact]
    public void Of_commands_sent_together_those_past_the_limit_are_refused()
    {
        using var rig = new WindowRig("CONFIG SET maxmemory 64mb", "SETRANGE a 40000000 x", "SETRANGE b 40000000 x", "SETRANGE c 40000000 x",
            "SETRANGE d 40000000 x", "GET e", "SET e v", "SET e v EX 10", "GET e", "DEL a b c d");
        Assert.Equal("+OK\r\n:40000001\r\n:40000001\r\n" + Oom + Oom + "$-1\r\n" + Oom + Oom + "$-1\r\n:2\r\n", rig.Run());
        Assert.Equal(0, rig.Keys);
    }
}
