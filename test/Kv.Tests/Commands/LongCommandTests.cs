using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Commands that work in steps give everything back, also when nobody waits for their answer any
/// more.</summary>
public class LongCommandTests
{
    [Fact]
    public void LCS_gives_its_table_back_when_the_client_leaves()
    {
        const long tableBytes = 3001L * 3001 * 4;
        using var rig = new WindowRig("SETRANGE a 2999 x", "LCS a a LEN");
        long before = rig.UsedBytes;
        rig.Run();
        Assert.True(rig.IsInSteps, "the table was filled in one step");
        Assert.True(rig.UsedBytes - before >= tableBytes, "the table is not charged");
        rig.End();
        // The store's thread unmaps large blocks.
        Eventually.Holds(() => rig.UsedBytes - before < tableBytes / 2,
            () => $"{rig.UsedBytes - before} bytes more than before");
    }

    [Fact]
    public void KEYS_gives_what_it_collected_back_when_the_client_leaves()
    {
        const int keys = 12_000, keyBytes = 100;
        string[] fill = [.. Enumerable.Range(0, keys).Select(i => $"SET {new string('k', keyBytes)}{i} v")];
        using var rig = new WindowRig([.. fill, "KEYS *"]);
        rig.Run();
        Assert.True(rig.IsInSteps, "all keys were visited in one step");
        long during = rig.UsedBytes;
        rig.End();
        Assert.True(during - rig.UsedBytes >= keyBytes * 100, $"only {during - rig.UsedBytes} bytes given back");
    }

    // Sent from the value's block, also while it is overwritten or deleted.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void GETRANGE_of_a_large_value_sends_the_part_that_was_asked_for(string transport)
    {
        string value = string.Concat(Enumerable.Range(0, 60_000)
            .Select(i => i.ToString("D6", System.Globalization.CultureInfo.InvariantCulture)));
        using var server = KvInstance.Start("--transport", transport);
        using var client = server.Connect();
        foreach (var (first, last) in new[] { (1, -2), (0, -1), (100_000, 165_535), (100_000, 165_536), (0, 65_536),
            (-70_000, -1), (359_999, 400_000), (5, 4) })
        {
            client.Ok($"SET big {value}");
            foreach (string line in new[] { "PING", $"GETRANGE big {first} {last}", "SETRANGE big 0 xxx", "DEL big",
                "PING" }) client.Send(line);
            Assert.Equal("PONG", client.Read().String);
            int from = first < 0 ? first + value.Length : first,
                to = Math.Min(value.Length - 1, last < 0 ? last + value.Length : last);
            Assert.Equal(from > to ? "" : value[from..(to + 1)], client.Read().String);
            Assert.Equal(value.Length, client.Read().Integer);
            Assert.Equal(1, client.Read().Integer);
            Assert.Equal("PONG", client.Read().String);
        }
    }
}
