using Kv.Storage;

namespace Kv.Tests.Storage;

/// <summary>Keys that are watched by the number of their database, when the numbers change in the middle of a
/// turn.</summary>
public sealed class WatchedSwapTests
{
    // The database has left the number by which the key is watched, though others may still work on it as if it had
    // not.
    [Fact]
    public void What_the_swapping_session_writes_next_is_in_the_new_table()
    {
        using var test = new TestStore();
        using var watches = new KeyWatches(test.Store);
        test.Set("other", "v");
        watches.Add(test.Session, 0, test.Session.Key("k"u8));
        test.Session.Swap(0, 1);
        test.Session.Select(1);
        test.Set("k", "v");
        Assert.False(watches.HaveChanged);
        test.Session.Select(0);
        test.Set("k", "v");
        Assert.True(watches.HaveChanged);
    }
}
