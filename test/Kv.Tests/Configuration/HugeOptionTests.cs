using Kv.Tests.Harness;

namespace Kv.Tests.Configuration;

/// <summary>Numbers of options are no sizes of arrays.</summary>
public sealed class HugeOptionTests
{
    [Theory]
    [InlineData("maxmemory-samples", "2147483647")]
    [InlineData("hz", "2147483647")]
    [InlineData("slowlog-max-len", "9223372036854775807")]
    [InlineData("acllog-max-len", "4294967295")]
    [InlineData("repl-backlog-size", "9223372036854775807")]
    [InlineData("maxclients", "1000000")]
    [InlineData("watch-limit", "2147483647")]
    public void Known_G03_a_huge_value_is_kept_or_refused_and_nothing_of_that_size_is_made(string option, string value)
    {
        if (OwnProcess.Ran()) return;
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        string old = client.Ok($"CONFIG GET {option}").Items![1].String;
        client.Ok("INFO everything");
        long before = GC.GetTotalAllocatedBytes(precise: true) + kv.Server.Store.UsedBytes;
        // Options without an effect keep their value.
        bool isKept = !client.Command($"CONFIG SET {option} {value}").IsError;
        Assert.Equal(isKept ? value : old, client.Ok($"CONFIG GET {option}").Items![1].String);
        client.Ok("SET k v");
        client.Ok("INFO everything");
        Assert.InRange(GC.GetTotalAllocatedBytes(precise: true) + kv.Server.Store.UsedBytes - before, 0, 4 << 20);
    }
}
