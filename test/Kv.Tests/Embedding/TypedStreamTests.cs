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
        for (int i = 1; i <= entries; i++) Assert.Equal(StreamAddStatus.Ok, Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}")));
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
        Assert.Equal((StoreStatus.Ok, 2L), (Streams.Trim("x"u8, Id(5), out long removed), removed));
        Assert.Equal((StoreStatus.Ok, 0L), (Streams.Trim("x"u8, Id(6), out removed, isApproximate: true), removed));
        Assert.Equal((StoreStatus.Ok, entries - 5L), (Streams.Trim("x"u8, 1, out removed), removed));
        Assert.Equal(StoreStatus.Ok, Streams.Remove("x"u8, Id(entries)));
        Assert.Equal((StoreStatus.Ok, 0L), (Streams.Count("x"u8, out long count), count));
        Assert.Equal((StoreStatus.Ok, Id(entries)), (Streams.LastId("x"u8, out var last), last));
        Assert.Equal(StreamAddStatus.NotAboveLast, Streams.Add("x"u8, Id(entries), "n"u8, "again"u8));
        Assert.Throws<ArgumentOutOfRangeException>(() => Streams.Trim("x"u8, -1, out _));
        Assert.Throws<ArgumentOutOfRangeException>(() => Streams.GetRange("x"u8, StreamId.Zero, StreamId.Max, _entries, most: -1));
    }

    [Fact]
    public void Consumers_of_a_group_share_the_entries_until_they_are_acknowledged()
    {
        Assert.Equal((StoreStatus.Ok, true), (Streams.CreateGroup("x"u8, "all"u8, StreamId.Zero, out bool isNew), isNew));
        Assert.Equal((StoreStatus.Ok, false), (Streams.CreateGroup("x"u8, "all"u8, StreamId.Max, out isNew), isNew));
        for (int i = 1; i <= 200; i++) Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"));
        Assert.Equal((StoreStatus.Ok, true), (Streams.CreateGroup("x"u8, "new"u8, StreamId.Max, out isNew), isNew));
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
        Assert.Equal(StoreStatus.Ok, Streams.Acknowledge("x"u8, "all"u8, Id(3)));
        Assert.Equal(StoreStatus.NotFound, Streams.Acknowledge("x"u8, "all"u8, Id(3)));
        Assert.Equal([], Pending("two"));
        Assert.Equal(StoreStatus.Ok, Streams.RemoveGroup("x"u8, "all"u8));
        Assert.Equal(StoreStatus.NotFound, Streams.RemoveGroup("x"u8, "all"u8));
        Assert.Equal(StoreStatus.NotFound, Streams.ReadGroup("x"u8, "all"u8, "one"u8, _entries));
        Assert.Equal(StoreStatus.NotFound, Streams.ReadPending("x"u8, "all"u8, "one"u8, StreamId.Zero, _entries));
        Assert.Equal(StoreStatus.NotFound, Streams.Acknowledge("x"u8, "all"u8, Id(1)));
    }

    [Fact]
    public void A_key_of_another_type_and_a_missing_one_are_told_by_every_operation()
    {
        _test.Set("text", "v");
        foreach (var (key, expected) in ((string, StoreStatus)[])[("text", StoreStatus.WrongType), ("missing", StoreStatus.NotFound)])
        {
            byte[] name = TestStore.Bytes(key);
            StoreStatus[] told =
            [
                Streams.Count(name, out _), Streams.LastId(name, out _), Streams.GetRange(name, StreamId.Zero, StreamId.Max, _entries),
                Streams.GetReverseRange(name, StreamId.Zero, StreamId.Max, _entries), Streams.Remove(name, Id(1)), Streams.Remove(name, [Id(1)], out _),
                Streams.Trim(name, 0, out _), Streams.Trim(name, Id(1), out _), Streams.ReadGroup(name, "g"u8, "c"u8, _entries),
                Streams.ReadPending(name, "g"u8, "c"u8, StreamId.Zero, _entries), Streams.Acknowledge(name, "g"u8, Id(1)), Streams.RemoveGroup(name, "g"u8),
            ];
            Assert.All(told, status => Assert.Equal(expected, status));
        }

        _fields.Add("a"u8, "1"u8);
        Assert.Equal(StreamAddStatus.WrongType, Streams.Add("text"u8, _fields, out _));
        Assert.Equal(StreamAddStatus.WrongType, Streams.Add("text"u8, Id(1), "a"u8, "1"u8));
        Assert.Equal(StoreStatus.WrongType, Streams.CreateGroup("text"u8, "g"u8, StreamId.Zero, out _));
        Assert.Equal("v", _test.Get("text"));
    }

    [Fact]
    public void A_refused_allocation_is_a_status_and_changes_nothing()
    {
        for (int i = 1; i <= 3000; i++) Streams.Add("x"u8, Id(i), "n"u8, TestStore.Bytes($"{i}"));
        Streams.CreateGroup("x"u8, "g"u8, StreamId.Zero, out _);
        byte[] large = new byte[300_000];
        _fields.Add("large"u8, large);
        _test.Store.Budget.Refuse = () => true;
        StreamAddStatus[] told = [Streams.Add("x"u8, "n"u8, large, out _), Streams.Add("x"u8, _fields, out _), Streams.Add("x"u8, Id(5000), _fields), Streams.Add("new"u8, "n"u8, large, out _)];
        var created = Streams.CreateGroup("x"u8, large, StreamId.Zero, out bool isNew);
        var read = Streams.ReadGroup("x"u8, "g"u8, "c"u8, _entries);
        _test.Store.Budget.Refuse = null;
        Assert.All(told, status => Assert.Equal(StreamAddStatus.OutOfMemory, status));
        Assert.Equal((StoreStatus.OutOfMemory, false), (created, isNew));
        Assert.Equal((StoreStatus.OutOfMemory, 0), (read, _entries.Count));
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
        Assert.Equal(StoreStatus.Ok, Streams.ReadGroup("x"u8, TestStore.Bytes(group), TestStore.Bytes(consumer), _entries, most));
        return Texts();
    }

    private string[] Pending(string consumer)
    {
        Assert.Equal(StoreStatus.Ok, Streams.ReadPending("x"u8, "all"u8, TestStore.Bytes(consumer), StreamId.Zero, _entries));
        return Texts();
    }

    private string[] Texts() => [.. Enumerable.Range(0, _entries.Count).Select(Text)];

    private string Text(int index)
    {
        var text = new StringBuilder(_entries.Id(index).ToString());
        for (int i = 0; i < _entries.FieldCount(index); i++)
            text.Append(' ').Append(Encoding.ASCII.GetString(_entries.Field(index, i))).Append('=').Append(Encoding.ASCII.GetString(_entries.Value(index, i)));
        return text.ToString();
    }
}
