using Kv.Tests.Harness;

namespace Kv.Tests.Configuration;

/// <summary>Numbers of options are no sizes of arrays.</summary>
public sealed class HugeOptionTests
{
    [Theory]
    [InlineData("maxmemory-samples", "2147483647", "2147483647")]
    [InlineData("hz", "2147483647", "500")]
    [InlineData("slowlog-max-len", "9223372036854775807", "9223372036854775807")]
    [InlineData("acllog-max-len", "4294967295", "4294967295")]
    [InlineData("repl-backlog-size", "9223372036854775807", "9223372036854775807")]
    public void Known_G03_a_huge_value_is_kept_or_bounded_and_nothing_of_that_size_is_made(string option, string value, string kept)
    {
        if (OwnProcess.Ran()) return;
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok($"CONFIG GET {option}");
        client.Ok("INFO everything");
        long before = GC.GetTotalAllocatedBytes(precise: true) + kv.Server.Store.UsedBytes;
        client.Ok($"CONFIG SET {option} {value}");
        Assert.Equal(kept, client.Ok($"CONFIG GET {option}").Items![1].String);
        client.Ok("SET k v");
        client.Ok("INFO everything");
        Assert.InRange(GC.GetTotalAllocatedBytes(precise: true) + kv.Server.Store.UsedBytes - before, 0, 4 << 20);
    }
}
