using System.Text;
using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Embedding;

/// <summary>Streams as .NET code works with them: what each operation answers, and what it leaves behind.</summary>
public sealed class TypedStreamTests : IDisposable
{
    private readonly TestStore _test = new();
    private readonly FieldBuffer _fields = new();
    private readonly EntryBuffer _entries = new();

    private StoreStreams Streams => _test.Session.Streams;

    private StoreStreamGroups Groups => _test.Session.StreamGroups;

    public void Dispose()
    {
        foreach (string key in (string[])["x", "text"]) _test.Delete(key);
        _test.Settle();
        _test.Check();
        Assert.Equal(0, _test.Store.Count(0));
        Assert.Equal(0, _test.Store.Budget.BlockBytes);
        _test.Dispose();
        _fields.Dispose();
        _entries.Dispose();
    }

    [Fact]
    public void An_entry_gets_an_id_of_the_clock_that_is_above_the_last_one()
    {
        ulong now = (ulong)_test.Clock.Ms;
        Assert.Equal((StreamAddStatus.Ok, new StreamId(now, 0)), (Streams.Add("x"u8, "a"u8, "1"u8, out var id), id));
        _fields.Add("a"u8, "2"u8);
        _fields.Add("b"u8, ""u8);
        _fields.Add("a"u8, "3"u8);
        Assert.Equal((StreamAddStatus.Ok, new StreamId(now, 1)), (Streams.Add("x"u8, _fields, out id), id));
        Assert.Equal(StreamAddStatus.NotAboveLast, Streams.Add("x"u8, new StreamId(now, 1), "a"u8, "4"u8));
        Assert.Equal(StreamAddStatus.Ok, Streams.Add("x"u8, new StreamId(now + 5, 7), _fields));
        Assert.Equal((StreamAddStatus.Ok, new StreamId(now + 5, 8)), (Streams.Add("x"u8, "a"u8, "5"u8, out id), id));
        Assert.Equal((StoreStatus.Ok, 4L), (Streams.Count("x"u8, out long count), count));
        Assert.Equal(StoreStatus.Ok, Streams.GetRange("x"u8, StreamId.Zero, StreamId.Max, _entries));
        Assert.Equal([$"{now}-0 a=1", $"{now}-1 a=2 b= a=3", $"{now + 5}-7 a=2 b= a=3", $"{now + 5}-8 a=5"], Texts());
        _fields.Clear();
        Assert.Throws<ArgumentOutOfRangeException>(() => Streams.Add("x"u8, _fields, out _));
        Assert.Throws<ArgumentOutOfRangeException>(() => _entries.Value(1, 3));
        Assert.Throws<ArgumentOutOfRangeException>(() => _entries.Id(4));
    }

    [Fact]
    public void No_id_is_above_the_greatest_and_none_is_0_0()
    {
        Assert.Equal(StreamAddStatus.NotAboveLast, Streams.Add("x"u8, StreamId.Zero, "a"u8, "1"u8));
        Assert.Equal(StoreStatus.NotFound, Streams.Count("x"u8, out _));
        Assert.Equal(StreamAddStatus.Ok, Streams.Add("x"u8, StreamId.Max, "a"u8, "1"u8));
        Assert.Equal((StreamAddStatus.NotAboveLast, StreamId.Zero), (Streams.Add("x"u8, "a"u8, "1"u8, out var id), id));
    }

    [Theory]
    [InlineData(10)]
    [InlineData(3000)]
    public void Entries_are_read_in_both_directions_removed_and_trimmed(int entries)
    {
        for (int i = 1; i <= entries; i++)
            Assert.Equal(StreamAddStatus.Ok, Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}")));
        Assert.Equal(["2-0 n=2", "3-0 n=3"], Range(2, 3));
        Assert.Equal([], Range(3, 2));
        Assert.Equal(StoreStatus.Ok, Streams.GetRange("x"u8, Id(4), StreamId.Max, _entries, most: 2));
        Assert.Equal(["4-0 n=4", "5-0 n=5"], Texts());
        Assert.Equal(StoreStatus.Ok, Streams.GetReverseRange("x"u8, Id(2), StreamId.Max, _entries, most: 2));
        Assert.Equal([$"{entries}-0 n={entries}", $"{entries - 1}-0 n={entries - 1}"], Texts());
        Assert.Equal(StoreStatus.Ok, Streams.GetReverseRange("x"u8, Id(2), Id(3), _entries));
        Assert.Equal(["3-0 n=3", "2-0 n=2"], Texts());
        Assert.Equal(StoreStatus.Ok, Streams.GetReverseRange("x"u8, StreamId.Zero, StreamId.Max, _entries));
        Assert.Equal(Enumerable.Range(1, entries).Reverse().Select(i => $"{i}-0 n={i}"), Texts());
        Assert.Equal(StoreStatus.Ok, Streams.Remove("x"u8, Id(2)));
        Assert.Equal(StoreStatus.NotFound, Streams.Remove("x"u8, Id(2)));
        Assert.Equal((StoreStatus.Ok, 1), (Streams.Remove("x"u8, [Id(3), Id(2), Id(entries + 1)], out int gone), gone));
        Assert.Equal(["1-0 n=1", "4-0 n=4"], Range(1, 4));
        Assert.Equal((StoreStatus.Ok, 2L), (Streams.Trim("x"u8, StreamKeep.From(Id(5)), out long removed), removed));
        Assert.Equal((StoreStatus.Ok, 0L),
            (Streams.Trim("x"u8, StreamKeep.From(Id(6), isApproximate: true), out removed), removed));
        Assert.Equal((StoreStatus.Ok, entries - 5L), (Streams.Trim("x"u8, StreamKeep.Newest(1), out removed), removed));
        Assert.Equal(StoreStatus.Ok, Streams.Remove("x"u8, Id(entries)));
        Assert.Equal((StoreStatus.Ok, 0L), (Streams.Count("x"u8, out long count), count));
        Assert.Equal((StoreStatus.Ok, Id(entries)), (Streams.LastId("x"u8, out var last), last));
        Assert.Equal(StreamAddStatus.NotAboveLast, Streams.Add("x"u8, Id(entries), "n"u8, "again"u8));
        Assert.Throws<ArgumentOutOfRangeException>(() => StreamKeep.Newest(-1));
        Assert.Throws<ArgumentOutOfRangeException>(
            () => Streams.GetRange("x"u8, StreamId.Zero, StreamId.Max, _entries, most: -1));
    }

    [Fact]
    public void Consumers_of_a_group_share_the_entries_until_they_are_acknowledged()
    {
        Assert.Equal((StoreStatus.Ok, true), (Groups.Create("x"u8, "all"u8, StreamId.Zero, out bool isNew), isNew));
        Assert.Equal((StoreStatus.Ok, false), (Groups.Create("x"u8, "all"u8, StreamId.Max, out isNew), isNew));
        for (int i = 1; i <= 200; i++) Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"));
        Assert.Equal((StoreStatus.Ok, true), (Groups.Create("x"u8, "new"u8, StreamId.Max, out isNew), isNew));
        Streams.Add("x"u8, Id(201), "n"u8, "201"u8);
        Assert.Equal(["1-0 n=1", "2-0 n=2"], Read("all", "one", 2));
        Assert.Equal(["3-0 n=3"], Read("all", "two", 1));
        Assert.Equal(["201-0 n=201"], Read("new", "one", 9));
        Assert.Equal(198, Read("all", "one", int.MaxValue).Length);
        Assert.Equal([], Read("all", "two", int.MaxValue));
        Assert.Equal(["3-0 n=3"], Pending("two"));
        Assert.Equal(200, Pending("one").Length);
        Assert.Equal([], Pending("three"));
        Streams.Remove("x"u8, Id(3));
        Assert.Equal(["3-0"], Pending("two"));
        Assert.Equal(StoreStatus.Ok, Groups.Acknowledge("x"u8, "all"u8, Id(3)));
        Assert.Equal(StoreStatus.NotFound, Groups.Acknowledge("x"u8, "all"u8, Id(3)));
        Assert.Equal([], Pending("two"));
        Assert.Equal(StoreStatus.Ok, Groups.Remove("x"u8, "all"u8));
        Assert.Equal(StoreStatus.NotFound, Groups.Remove("x"u8, "all"u8));
        Assert.Equal(StoreStatus.NotFound, Groups.Read("x"u8, "all"u8, "one"u8, _entries));
        Assert.Equal(StoreStatus.NotFound, Groups.ReadPending("x"u8, "all"u8, "one"u8, StreamId.Zero, _entries));
        Assert.Equal(StoreStatus.NotFound, Groups.Acknowledge("x"u8, "all"u8, Id(1)));
        StreamId next = Id(1);
        Assert.Equal(StoreStatus.NotFound, Groups.Claim("x"u8, "all"u8, "one"u8, [Id(1)], 0, _entries));
        Assert.Equal((StoreStatus.NotFound, Id(1)),
            (Groups.ClaimIdle("x"u8, "all"u8, "one"u8, ref next, 0, _entries), next));
    }

    [Fact]
    public void What_is_added_takes_the_place_of_the_oldest()
    {
        for (int i = 1; i <= 500; i++)
            Assert.Equal(StreamAddStatus.Ok,
                Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"), StreamKeep.Newest(3)));
        Assert.Equal(["498-0 n=498", "499-0 n=499", "500-0 n=500"], Range(0, 1000));
        _fields.Add("a"u8, "1"u8);
        Assert.Equal(StreamAddStatus.Ok, Streams.Add("x"u8, Id(501), _fields, StreamKeep.From(Id(500))));
        Assert.Equal(["500-0 n=500", "501-0 a=1"], Range(0, 1000));
        Assert.Equal(StreamAddStatus.Ok, Streams.Add("x"u8, "n"u8, "now"u8, out var id, StreamKeep.From(StreamId.Max)));
        Assert.Equal((StoreStatus.Ok, 0L), (Streams.Count("x"u8, out long count), count));
        Assert.Equal((StoreStatus.Ok, id), (Streams.LastId("x"u8, out var last), last));
        for (int i = 0; i < 1000; i++)
            Assert.Equal(StreamAddStatus.Ok,
                Streams.Add("x"u8, _fields, out _, StreamKeep.Newest(250, isApproximate: true)));
        Streams.Count("x"u8, out count);
        Assert.InRange(count, 250, 250 + 99);
        // What is refused removes nothing.
        Assert.Equal(StreamAddStatus.NotAboveLast, Streams.Add("x"u8, Id(1), _fields, StreamKeep.Newest(0)));
        Assert.Equal((StoreStatus.Ok, count), (Streams.Count("x"u8, out long after), after));
    }

    [Fact]
    public void An_entry_that_is_idle_for_long_goes_to_who_claims_it()
    {
        Groups.Create("x"u8, "all"u8, StreamId.Zero, out _);
        for (int i = 1; i <= 6; i++) Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"));
        Read("all", "one", 4);
        _test.Clock.Ms += 1000;
        _test.Begin();
        Read("all", "one", 1);
        Streams.Remove("x"u8, Id(2));
        // 1 and 3 for long, 2 is gone, 5 is young, 6 was never delivered.
        Assert.Equal(["3-0 n=3", "2-0", "1-0 n=1"], Claim("two", 1000, 3, 2, 1, 5, 6, 7));
        Assert.Equal(["1-0 n=1", "3-0 n=3"], Pending("two"));
        Assert.Equal(["4-0 n=4", "5-0 n=5"], Pending("one"));
        Assert.Equal([], Claim("three", 1, 1, 3));
        Assert.Equal(["1-0 n=1", "5-0 n=5", "6-0 n=6"],
            Claim("three", 0, new ClaimOptions { AlsoNotPending = true }, 1, 5, 2, 6));
        Assert.Equal(StoreStatus.Ok, Groups.Acknowledge("x"u8, "all"u8, Id(6)));
        Assert.Throws<ArgumentOutOfRangeException>(() => Claim("two", -1, 1));
        Assert.Throws<ArgumentOutOfRangeException>(() => Claim("two", 0, new ClaimOptions { Deliveries = -1 }, 1));
        // Delivered as said: an hour ago, and so idle; not in the future.
        long now = _test.Session.NowMs;
        Claim("two", 0, new ClaimOptions { DeliveredMs = now - 3_600_000, Deliveries = 9 }, 5);
        Assert.Equal(["5-0 n=5"], Claim("one", 3_600_000, new ClaimOptions { DeliveredMs = now + 5000 }, 1, 3, 5));
        Assert.Equal([], Claim("one", 1, 5));
        Assert.Equal(["4-0 n=4", "5-0 n=5"], Pending("one"));
    }

    [Fact]
    public void Entries_that_are_idle_for_long_are_claimed_a_page_at_a_time()
    {
        const int entries = 1000;
        Groups.Create("x"u8, "all"u8, StreamId.Zero, out _);
        for (int i = 1; i <= entries; i++) Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"));
        for (int i = 0; i < entries; i += 10) Read("all", i % 20 == 0 ? "one" : "two", 10);
        Streams.Remove("x"u8, [Id(5), Id(500), Id(entries)], out _);
        StreamId next = Id(100);
        Assert.Equal(["100-0 n=100", "101-0 n=101"], ClaimIdle("three", 0, 2, ref next));
        Assert.Equal(Id(102), next);
        // Too young, all of them, but for one that is gone: it looks at ten times as many as are wanted.
        _test.Clock.Ms += 500;
        _test.Begin();
        next = StreamId.Zero;
        Assert.Equal(["5-0"], ClaimIdle("three", 501, 7, ref next));
        Assert.Equal(Id(71), next);
        var claimed = new List<string>();
        next = StreamId.Zero;
        do claimed.AddRange(ClaimIdle("three", 500, 9, ref next));
        while (next != StreamId.Zero);
        Assert.Equal(Enumerable.Range(1, entries).Where(i => i != 5)
            .Select(i => i is 500 or entries ? $"{i}-0" : $"{i}-0 n={i}"), claimed);
        Assert.Equal((0, 0, entries - 3), (Pending("one").Length, Pending("two").Length, Pending("three").Length));
        Assert.Equal([], ClaimIdle("four", 1, int.MaxValue, ref next));
        Assert.Equal(StreamId.Zero, next);
        Assert.Throws<ArgumentOutOfRangeException>(() => ClaimIdle("four", 0, 0, ref next));
    }

    [Fact]
    public void A_claim_that_memory_ends_in_has_what_it_got()
    {
        const int entries = 400;
        Groups.Create("x"u8, "all"u8, StreamId.Zero, out _);
        for (int i = 1; i <= entries; i++) Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"));
        Read("all", "one", entries);
        int took = 0, refusedAfter = 0;
        // Ends: each round lets one more allocation through, and the last one needs no more.
        for (bool isDone = false; !isDone;)
        {
            int left = refusedAfter++;
            bool refused = false;
            _test.Store.Budget.Refuse = () => refused |= left-- <= 0;
            StreamId next = StreamId.Zero;
            var status = Groups.ClaimIdle("x"u8, "all"u8, "two"u8, ref next, 0, _entries, entries);
            _test.Store.Budget.Refuse = null;
            took = _entries.Count;
            isDone = !refused;
            Assert.Equal(took == 0 ? StoreStatus.OutOfMemory : StoreStatus.Ok, status);
            Assert.Equal(took is 0 or entries ? StreamId.Zero : Id(took + 1), next);
            Assert.Equal(took, Pending("two").Length);
            Assert.Equal(entries - took, Pending("one").Length);
            _test.Check();
            Claim("one", 0, [.. Enumerable.Range(1, entries)]);
        }

        Assert.Equal(entries, took);
    }

    [Fact]
    public void A_key_of_another_type_and_a_missing_one_are_told_by_every_operation()
    {
        _test.Set("text", "v");
        StreamId next = Id(7);
        foreach (var (key, expected) in ((string, StoreStatus)[])[("text", StoreStatus.WrongType),
            ("missing", StoreStatus.NotFound)])
        {
            byte[] name = TestStore.Bytes(key);
            StoreStatus[] told =
            [
                Streams.Count(name, out _), Streams.LastId(name, out _),
                Streams.GetRange(name, StreamId.Zero, StreamId.Max, _entries),
                Streams.GetReverseRange(name, StreamId.Zero, StreamId.Max, _entries), Streams.Remove(name, Id(1)),
                Streams.Remove(name, [Id(1)], out _),
                Streams.Trim(name, StreamKeep.Newest(0), out _), Streams.Trim(name, default, out _),
                Groups.Read(name, "g"u8, "c"u8, _entries),
                Groups.ReadPending(name, "g"u8, "c"u8, StreamId.Zero, _entries), Groups.Acknowledge(name, "g"u8, Id(1)),
                Groups.Remove(name, "g"u8),
                Groups.Claim(name, "g"u8, "c"u8, [Id(1)], 0, _entries),
                Groups.ClaimIdle(name, "g"u8, "c"u8, ref next, 0, _entries),
            ];
            Assert.All(told, status => Assert.Equal(expected, status));
        }

        Assert.Equal(Id(7), next);
        _fields.Add("a"u8, "1"u8);
        Assert.Equal(StreamAddStatus.WrongType, Streams.Add("text"u8, _fields, out _));
        Assert.Equal(StreamAddStatus.WrongType, Streams.Add("text"u8, Id(1), "a"u8, "1"u8));
        Assert.Equal(StoreStatus.WrongType, Groups.Create("text"u8, "g"u8, StreamId.Zero, out _));
        Assert.Equal("v", _test.Get("text"));
    }

    [Fact]
    public void A_refused_allocation_is_a_status_and_changes_nothing()
    {
        for (int i = 1; i <= 3000; i++) Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"));
        Groups.Create("x"u8, "g"u8, StreamId.Zero, out _);
        byte[] large = new byte[300_000];
        _fields.Add("large"u8, large);
        _test.Store.Budget.Refuse = () => true;
        StreamAddStatus[] told = [Streams.Add("x"u8, "n"u8, large, out _), Streams.Add("x"u8, _fields, out _),
            Streams.Add("x"u8, Id(5000), _fields), Streams.Add("new"u8, "n"u8, large, out _)];
        var created = Groups.Create("x"u8, large, StreamId.Zero, out bool isNew);
        var read = Groups.Read("x"u8, "g"u8, "c"u8, _entries);
        StreamId next = Id(2);
        StoreStatus[] claimed = [Groups.Claim("x"u8, "g"u8, large, [Id(1)], 0, _entries),
            Groups.ClaimIdle("x"u8, "g"u8, large, ref next, 0, _entries)];
        _test.Store.Budget.Refuse = null;
        Assert.All(told, status => Assert.Equal(StreamAddStatus.OutOfMemory, status));
        Assert.Equal((StoreStatus.OutOfMemory, false), (created, isNew));
        Assert.Equal((StoreStatus.OutOfMemory, 0), (read, _entries.Count));
        Assert.Equal([StoreStatus.OutOfMemory, StoreStatus.OutOfMemory], claimed);
        Assert.Equal(Id(2), next);
        Assert.Equal((StoreStatus.Ok, 3000L), (Streams.Count("x"u8, out long count), count));
        Assert.Equal((StoreStatus.Ok, Id(3000)), (Streams.LastId("x"u8, out var last), last));
        Assert.False(_test.Session.Exists(_test.Session.Key("new"u8)));
        Assert.Equal(3000, Read("g", "c", int.MaxValue).Length);
    }

    private static StreamId Id(int ms) => new((ulong)ms, 0);

    private string[] Range(int first, int last)
    {
        Assert.Equal(StoreStatus.Ok, Streams.GetRange("x"u8, Id(first), Id(last), _entries));
        return Texts();
    }

    private string[] Read(string group, string consumer, int most)
    {
        Assert.Equal(StoreStatus.Ok,
            Groups.Read("x"u8, TestStore.Bytes(group), TestStore.Bytes(consumer), _entries, most));
        return Texts();
    }

    private string[] Pending(string consumer)
    {
        Assert.Equal(StoreStatus.Ok,
            Groups.ReadPending("x"u8, "all"u8, TestStore.Bytes(consumer), StreamId.Zero, _entries));
        return Texts();
    }

    private string[] Claim(string consumer, long idleMs, params int[] ids) => Claim(consumer, idleMs, default, ids);

    private string[] Claim(string consumer, long idleMs, ClaimOptions options, params int[] ids)
    {
        Assert.Equal(StoreStatus.Ok,
            Groups.Claim("x"u8, "all"u8, TestStore.Bytes(consumer), [.. ids.Select(Id)], idleMs, _entries, options));
        return Texts();
    }

    private string[] ClaimIdle(string consumer, long idleMs, int most, ref StreamId next)
    {
        Assert.Equal(StoreStatus.Ok,
            Groups.ClaimIdle("x"u8, "all"u8, TestStore.Bytes(consumer), ref next, idleMs, _entries, most));
        return Texts();
    }

    private string[] Texts() => [.. Enumerable.Range(0, _entries.Count).Select(Text)];

    private string Text(int index)
    {
        var text = new StringBuilder(_entries.Id(index).ToString());
        for (int i = 0; i < _entries.FieldCount(index); i++)
            text.Append(' ').Append(Encoding.ASCII.GetString(_entries.Field(index, i))).Append('=')
                .Append(Encoding.ASCII.GetString(_entries.Value(index, i)));
        return text.ToString();
    }
}
