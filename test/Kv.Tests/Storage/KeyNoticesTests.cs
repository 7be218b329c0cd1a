using System.Text;
using Kv.Storage;

namespace Kv.Tests.Storage;

/// <summary>Who is told of what happens to keys, and how often.</summary>
public sealed class KeyNoticesTests
{
    [Fact]
    public void Making_room_in_a_value_is_one_change_and_none_where_memory_is_refused()
    {
        using var test = new TestStore();
        Key key = test.Session.Key("k"u8);
        Assert.True(TryReserve(test, 10));
        WatchedKey watched = test.Store.Databases.Watch(0, key, out long before);
        test.Session.Changes.Seal();        // else there is room in the segment
        test.Store.Budget.Refuse = () => true;
        Assert.False(TryReserve(test, 1000));
        Assert.Equal(before, watched.Changes);
        test.Store.Budget.Refuse = null;
        Assert.True(TryReserve(test, 1000));
        Assert.Equal(before + 1, watched.Changes);
        Assert.True(TryReserve(test, 1000));
        Assert.Equal(before + 2, watched.Changes);
        test.Store.Watches.Remove(watched);
    }

    [Fact]
    public void Who_listens_to_ends_and_misses_hears_only_those_and_costs_writes_nothing()
    {
        using var test = new TestStore();
        var heard = new Recorder();
        test.Session.Listener = heard;
        Assert.Equal(0, FreedBySets(test, HeardNotes.Ends | HeardNotes.Misses, "a"));
        Assert.False(test.Store.Watches.IsAny);
        Assert.True(test.Delete("a1"));
        test.Session.Exists(test.Session.Key("a1"u8));      // no use, so none that misses
        Assert.Null(test.Get("a1"));
        test.SetWithExpiry("e", "v", test.Clock.Ms + 10);
        test.Clock.Advance(20);
        test.Begin();
        Assert.Null(test.Get("e"));
        Assert.Equal(["Missed a1", "Expired e", "Missed e"], heard.Notes);

        // A new key is held as a placeholder first, which then goes.
        Assert.NotEqual(0, FreedBySets(test, HeardNotes.Changes, "b"));
        Assert.True(test.Store.Watches.IsAny);
        test.Store.Watches.Heard = HeardNotes.None;
        Assert.False(test.Store.Watches.IsAny);
    }

    [Fact]
    public void The_stores_listener_hears_what_a_session_without_one_overwrites()
    {
        using var test = new TestStore();
        var heard = new Recorder();
        test.Store.Listener = heard;
        test.Store.Watches.Heard = HeardNotes.Changes;
        test.Set("k", "one");
        test.Set("k", "two");
        test.Delete("k");
        Assert.Equal(["Changed k", "Added k", "Changed k", "Deleted k"], heard.Notes);
    }

    private static bool TryReserve(TestStore test, int bytes)
    {
        using var held = test.Session.Hold(test.Session.Key("k"u8), DataType.Set, 8);
        return held.Value.TryReserveRun(ValueKind.PackedSet, bytes);
    }

    /// <summary>Bytes of records that writing some new keys has ended.</summary>
    private static long FreedBySets(TestStore test, HeardNotes notes, string prefix)
    {
        test.Store.Watches.Heard = notes;
        long before = test.Store.Sessions.FreedBytes;
        for (int i = 0; i < 10; i++) test.Set($"{prefix}{i}", new string('v', 100));
        return test.Store.Sessions.FreedBytes - before;
    }

    private sealed class Recorder : IKeyListener
    {
        public List<string> Notes { get; } = [];

        public void Hear(KeyNote note, int database, ReadOnlySpan<byte> key) =>
            Notes.Add($"{note} {Encoding.ASCII.GetString(key)}");

        public void Settle()
        {
        }
    }
}
