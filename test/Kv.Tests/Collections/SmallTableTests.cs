using Kv.Tests.Harness;

namespace Kv.Tests.Collections;

/// <summary>Collections of few members that are too long to be packed take little more than their members.</summary>
public sealed class SmallTableTests
{
    // 3.4 KB for one field, 6.5 and 15.4 KB for one and five members with scores: room for splits that never come.
    [Theory]
    [InlineData("HSET k f {0}", 1100)]
    [InlineData("HSET k f1 {0} f2 {0} f3 {0} f4 {0} f5 {0}", 1900)]
    [InlineData("SADD k {0}", 1100)]
    [InlineData("ZADD k 1 {0}", 2300)]
    [InlineData("ZADD k 1 {0}1 2 {0}2 3 {0}3 4 {0}4 5 {0}5", 3000)]
    public void Few_long_members_take_few_bytes(string command, int most)
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        string line = string.Format(System.Globalization.CultureInfo.InvariantCulture, command, new string('x', 100));
        Assert.Equal(':', client.Command(line).Type);
        Assert.InRange(client.Command("MEMORY USAGE k").Integer, 1, most);
        kv.Server.Store.CheckIntegrity();
    }
}
