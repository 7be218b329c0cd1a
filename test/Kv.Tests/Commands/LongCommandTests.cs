using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Commands that work in steps give everything back, also when nobody waits for their answer any more.</summary>
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
        Eventually.Holds(() => rig.UsedBytes - before < tableBytes / 2, () => $"{rig.UsedBytes - before} bytes more than before");
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
}
