using System.Text;
using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Embedding;

/// <summary>The data types of a store as .NET code works with them: what each operation answers, and what it leaves
/// behind.</summary>
public sealed class TypedStoreTests : IDisposable
{
    private readonly TestStore _test = new();
    private readonly ElementBuffer _elements = new();
    private readonly FieldBuffer _fields = new();
    private readonly ScoreBuffer _scores = new();

    private StoreHashes Hashes => _test.Session.Hashes;

    private StoreLists Lists => _test.Session.Lists;

    private StoreSets Sets => _test.Session.Sets;

    private StoreSortedSets SortedSets => _test.Session.SortedSets;

    public void Dispose()
    {
        foreach (string key in (string[])["h", "l", "m", "s", "t", "u", "z", "y", "text"]) _test.Delete(key);
        _test.Settle();
        _test.Check();
        Assert.Equal(0, _test.Store.Count(0));
        Assert.Equal(0, _test.Store.Budget.BlockBytes);
        _test.Dispose();
        _elements.Dispose();
        _fields.Dispose();
        _scores.Dispose();
    }

    [Fact]
    public void A_hash_is_set_read_counted_and_emptied()
    {
        Assert.Equal(StoreStatus.NotFound, Hashes.Get("h"u8, "a"u8, out _));
        Assert.Equal(StoreStatus.Ok, Hashes.Set("h"u8, "a"u8, "1"u8, out bool isNew));
        Assert.True(isNew);
        Assert.Equal(StoreStatus.Ok, Hashes.Set("h"u8, "a"u8, "2"u8, out isNew));
        Assert.False(isNew);
        Assert.Equal(StoreStatus.Ok, Hashes.SetIfAbsent("h"u8, "a"u8, "3"u8, out bool isSet));
        Assert.False(isSet);
        Assert.Equal(StoreStatus.Ok, Hashes.SetIfAbsent("h"u8, "b"u8, ""u8, out isSet));
        Assert.True(isSet);
        Assert.Equal("2", Text(Hashes.Get("h"u8, "a"u8, out var value), value));
        Assert.Equal("", Text(Hashes.Get("h"u8, "b"u8, out value), value));
        Assert.Equal(StoreStatus.NotFound, Hashes.Get("h"u8, "c"u8, out value));
        Assert.Equal(0, value.Length);
        Assert.Equal(StoreStatus.Ok, Hashes.Contains("h"u8, "a"u8));
        Assert.Equal(StoreStatus.NotFound, Hashes.Contains("h"u8, "c"u8));
        Assert.Equal((StoreStatus.Ok, 2L), (Hashes.Count("h"u8, out long count), count));
        Assert.Equal(StoreStatus.Ok, Hashes.Remove("h"u8, "a"u8));
        Assert.Equal(StoreStatus.NotFound, Hashes.Remove("h"u8, "a"u8));
        Assert.Equal(StoreStatus.Ok, Hashes.Remove("h"u8, "b"u8));
        Assert.Equal((StoreStatus.NotFound, 0L), (Hashes.Count("h"u8, out count), count));
        Assert.Equal(0, _test.Store.Count(0));
    }

    [Fact]
    public void A_number_in_a_field_is_added_to_unless_it_is_none_or_would_overflow()
    {
        Assert.Equal((IncrementStatus.Ok, 5L), (Hashes.Increment("h"u8, "n"u8, 5, out long sum), sum));
        Assert.Equal((IncrementStatus.Ok, long.MaxValue),
            (Hashes.Increment("h"u8, "n"u8, long.MaxValue - 5, out sum), sum));
        Assert.Equal((IncrementStatus.Overflow, 0L), (Hashes.Increment("h"u8, "n"u8, 1, out sum), sum));
        Assert.Equal((IncrementStatus.Ok, -1L), (Hashes.Increment("h"u8, "n"u8, long.MinValue, out sum), sum));
        Hashes.Set("h"u8, "text"u8, "5x"u8);
        Assert.Equal(IncrementStatus.NotANumber, Hashes.Increment("h"u8, "text"u8, 1, out _));
        Assert.Equal("5x", Text(Hashes.Get("h"u8, "text"u8, out var value), value));
        _test.Set("text", "v");
        Assert.Equal(IncrementStatus.WrongType, Hashes.Increment("text"u8, "n"u8, 1, out _));
    }

    [Theory]
    [InlineData(5)]
    [InlineData(5000)]
    public void All_fields_are_set_copied_scanned_and_sampled(int fields)
    {
        for (int i = 0; i < fields; i++) _fields.Add(Bytes("field" + i), Bytes("value" + i));
        Assert.Equal((StoreStatus.Ok, fields), (Hashes.Set("h"u8, _fields, out int created), created));
        Assert.Equal((StoreStatus.Ok, 0), (Hashes.Set("h"u8, _fields, out created), created));
        Assert.Equal(StoreStatus.Ok, Hashes.GetAll("h"u8, _fields));
        var expected = Enumerable.Range(0, fields).ToDictionary(i => "field" + i, i => "value" + i);
        Assert.Equal(expected.OrderBy(pair => pair.Key), Pairs().OrderBy(pair => pair.Key));
        var met = new Dictionary<string, string>();
        ulong cursor = 0;
        do
        {
            Assert.Equal(StoreStatus.Ok, Hashes.Scan("h"u8, ref cursor, _fields));
            foreach (var pair in Pairs()) met[pair.Key] = pair.Value;
        }
        while (cursor != 0);
        Assert.Equal(expected.OrderBy(pair => pair.Key), met.OrderBy(pair => pair.Key));
        Assert.Equal(StoreStatus.Ok, Hashes.Sample("h"u8, 3, _fields));
        Assert.Equal(3, Pairs().Select(pair => pair.Key).Distinct().Count());
        Assert.Equal(StoreStatus.Ok, Hashes.Sample("h"u8, int.MaxValue, _fields));
        Assert.Equal(fields, _fields.Count);
    }

    [Fact]
    public void A_field_expires_when_it_was_told_to()
    {
        Hashes.Set("h"u8, "a"u8, "1"u8);
        Hashes.Set("h"u8, "b"u8, "2"u8);
        long soon = _test.Clock.Ms + 1000;
        Assert.Equal((StoreStatus.Ok, FieldExpiryStatus.Changed),
            (Hashes.SetExpiry("h"u8, "a"u8, soon, FieldExpiryRule.Always, out var result), result));
        Assert.Equal((StoreStatus.Ok, FieldExpiryStatus.Unchanged),
            (Hashes.SetExpiry("h"u8, "a"u8, soon, FieldExpiryRule.IfNone, out result), result));
        Assert.Equal((StoreStatus.Ok, FieldExpiryStatus.NoField),
            (Hashes.SetExpiry("h"u8, "c"u8, soon, FieldExpiryRule.Always, out result), result));
        Assert.Equal((StoreStatus.Ok, soon), (Hashes.GetExpiry("h"u8, "a"u8, out long expiryMs), expiryMs));
        Assert.Equal((StoreStatus.Ok, -1L), (Hashes.GetExpiry("h"u8, "b"u8, out expiryMs), expiryMs));
        Assert.Equal(StoreStatus.NotFound, Hashes.GetExpiry("h"u8, "c"u8, out _));
        Assert.Equal((StoreStatus.Ok, FieldExpiryStatus.Changed), (Hashes.Persist("h"u8, "a"u8, out result), result));
        Hashes.SetExpiry("h"u8, "a"u8, soon, FieldExpiryRule.Always, out _);
        _test.Clock.Advance(1000);
        _test.Begin();
        Assert.Equal(StoreStatus.NotFound, Hashes.Get("h"u8, "a"u8, out _));
        Assert.Equal(StoreStatus.Ok, Hashes.GetAll("h"u8, _fields));
        Assert.Equal("b", Encoding.ASCII.GetString(_fields.Field(0)));
        Assert.Equal((StoreStatus.Ok, FieldExpiryStatus.Removed),
            (Hashes.SetExpiry("h"u8, "b"u8, 1, FieldExpiryRule.Always, out result), result));
        Assert.Equal(StoreStatus.NotFound, Hashes.GetAll("h"u8, _fields));
        Assert.Throws<ArgumentOutOfRangeException>(
            () => Hashes.SetExpiry("h"u8, "b"u8, 1L << 46, FieldExpiryRule.Always, out _));
    }

    [Fact]
    public void A_list_gives_at_both_ends_what_it_was_given()
    {
        Assert.Equal((StoreStatus.Ok, 1L), (Lists.Push("l"u8, ListEnd.Right, "b"u8, out long count), count));
        Assert.Equal((StoreStatus.Ok, 2L), (Lists.Push("l"u8, ListEnd.Left, "a"u8, out count), count));
        _elements.Add("c"u8);
        _elements.Add("d"u8);
        Assert.Equal((StoreStatus.Ok, 4L), (Lists.Push("l"u8, ListEnd.Right, _elements, out count), count));
        Assert.Equal("a b c d", All("l"));
        Assert.Equal("d", Text(Lists.Get("l"u8, -1, out var element), element));
        Assert.Equal(StoreStatus.NotFound, Lists.Get("l"u8, 4, out _));
        Assert.Equal(StoreStatus.Ok, Lists.Set("l"u8, 1, "B"u8));
        Assert.Equal(StoreStatus.NotFound, Lists.Set("l"u8, -5, "x"u8));
        Assert.Equal(StoreStatus.Ok, Lists.Insert("l"u8, 2, "x"u8));
        Assert.Equal(StoreStatus.Ok, Lists.Insert("l"u8, 5, "y"u8));
        Assert.Equal(StoreStatus.NotFound, Lists.Insert("l"u8, 7, "z"u8));
        Assert.Equal("a B x c d y", All("l"));
        Assert.Equal((StoreStatus.Ok, 3L), (Lists.Find("l"u8, "c"u8, out long index), index));
        Assert.Equal((StoreStatus.NotFound, -1L), (Lists.Find("l"u8, "C"u8, out index), index));
        Assert.Equal((StoreStatus.Ok, 1L),
            (Lists.Remove("l"u8, "x"u8, long.MaxValue, ListEnd.Left, out long removed), removed));
        Assert.Equal(StoreStatus.Ok, Lists.Trim("l"u8, 1, -2));
        Assert.Equal("B c d", All("l"));
        Assert.Equal("B", Text(Lists.Pop("l"u8, ListEnd.Left, out element), element));
        Assert.Equal(StoreStatus.Ok, Lists.Pop("l"u8, ListEnd.Right, 5, _elements));
        Assert.Equal(["d", "c"], Texts());
        Assert.Equal(StoreStatus.NotFound, Lists.Pop("l"u8, ListEnd.Right, out _));
        Assert.Equal(StoreStatus.NotFound, Lists.Count("l"u8, out _));
    }

    [Fact]
    public void An_element_moves_between_lists_and_round_one()
    {
        foreach (string text in (string[])["a", "b", "c"]) Lists.Push("l"u8, ListEnd.Right, Bytes(text));
        Assert.Equal("a", Text(Lists.Move("l"u8, ListEnd.Left, "m"u8, ListEnd.Right, out var element), element));
        Assert.Equal("c", Text(Lists.Move("l"u8, ListEnd.Right, "m"u8, ListEnd.Left, out element), element));
        Assert.Equal(("b", "c a"), (All("l"), All("m")));
        Assert.Equal("c", Text(Lists.Move("m"u8, ListEnd.Left, "m"u8, ListEnd.Right, out element), element));
        Assert.Equal("a", Text(Lists.Move("m"u8, ListEnd.Left, "m"u8, ListEnd.Left, out element), element));
        Assert.Equal("a c", All("m"));
        Assert.Equal("b", Text(Lists.Move("l"u8, ListEnd.Left, "m"u8, ListEnd.Left, out element), element));
        Assert.Equal(StoreStatus.NotFound, Lists.Move("l"u8, ListEnd.Left, "m"u8, ListEnd.Left, out element));
        _test.Set("text", "v");
        Assert.Equal(StoreStatus.WrongType, Lists.Move("m"u8, ListEnd.Left, "text"u8, ListEnd.Left, out element));
        Assert.Equal(0, element.Length);
        Assert.Equal("b a c", All("m"));
    }

    [Fact]
    public void A_set_has_each_member_once()
    {
        Assert.Equal((StoreStatus.Ok, true), (Sets.Add("s"u8, "1"u8, out bool isNew), isNew));
        Assert.Equal((StoreStatus.Ok, false), (Sets.Add("s"u8, "1"u8, out isNew), isNew));
        foreach (string text in (string[])["2", "1", "x"]) _elements.Add(Bytes(text));
        Assert.Equal((StoreStatus.Ok, 2), (Sets.Add("s"u8, _elements, out int added), added));
        Assert.Equal(StoreStatus.Ok, Sets.Contains("s"u8, "x"u8));
        Assert.Equal(StoreStatus.NotFound, Sets.Contains("s"u8, "y"u8));
        Assert.Equal((StoreStatus.Ok, 3L), (Sets.Count("s"u8, out long count), count));
        Assert.Equal(StoreStatus.Ok, Sets.GetAll("s"u8, _elements));
        Assert.Equal(["1", "2", "x"], Texts().Order());
        Assert.Equal(StoreStatus.Ok, Sets.Move("s"u8, "t"u8, "x"u8));
        Assert.Equal(StoreStatus.NotFound, Sets.Move("s"u8, "t"u8, "x"u8));
        Assert.Equal(StoreStatus.Ok, Sets.Move("t"u8, "t"u8, "x"u8));
        Assert.Equal(StoreStatus.Ok, Sets.Sample("s"u8, 9, _elements));
        Assert.Equal(["1", "2"], Texts().Order());
        Assert.Equal(StoreStatus.Ok, Sets.Remove("s"u8, "1"u8));
        Assert.Equal(StoreStatus.NotFound, Sets.Remove("s"u8, "1"u8));
        Assert.Equal("2", Text(Sets.Pop("s"u8, out var member), member));
        Assert.Equal(StoreStatus.NotFound, Sets.Pop("s"u8, out _));
        _test.Set("text", "v");
        Assert.Equal(StoreStatus.WrongType, Sets.Move("t"u8, "text"u8, "x"u8));
        Assert.Equal(StoreStatus.Ok, Sets.Contains("t"u8, "x"u8));
    }

    [Theory]
    [InlineData(20)]
    [InlineData(4000)]
    public void Sets_are_combined_and_scanned(int members)
    {
        for (int i = 0; i < members; i++)
        {
            Sets.Add("s"u8, Bytes("m" + i));
            if (i % 2 == 0) Sets.Add("t"u8, Bytes("m" + i));
        }

        Sets.Add("t"u8, "other"u8);
        ReadOnlyMemory<byte>[] both = [Bytes("s"), Bytes("t")], withMissing = [Bytes("t"), Bytes("missing")];
        Assert.Equal((StoreStatus.Ok, members + 1),
            (Sets.Combine(SetOperation.Union, both, _elements), _elements.Count));
        Assert.Equal((StoreStatus.Ok, members / 2),
            (Sets.Combine(SetOperation.Intersection, both, _elements), _elements.Count));
        Assert.Equal((StoreStatus.Ok, members / 2),
            (Sets.Combine(SetOperation.Difference, both, _elements), _elements.Count));
        Assert.Equal((StoreStatus.Ok, 0),
            (Sets.Combine(SetOperation.Intersection, withMissing, _elements), _elements.Count));
        _test.Set("u", "a string goes");
        Assert.Equal((StoreStatus.Ok, members / 2L),
            (Sets.CombineInto(SetOperation.Intersection, "u"u8, both, out long count), count));
        Assert.Equal(StoreStatus.Ok, Sets.Contains("u"u8, "m2"u8));
        Assert.Equal((StoreStatus.Ok, 0L),
            (Sets.CombineInto(SetOperation.Intersection, "u"u8, withMissing, out count), count));
        Assert.Equal(StoreStatus.NotFound, Sets.Count("u"u8, out _));
        _test.Set("text", "v");
        Assert.Equal(StoreStatus.WrongType,
            Sets.CombineInto(SetOperation.Union, "u"u8, [Bytes("s"), Bytes("text")], out _));
        Assert.Throws<ArgumentOutOfRangeException>(() => Sets.Combine(SetOperation.Union, [], _elements));
        var met = new HashSet<string>();
        ulong cursor = 0;
        do
        {
            Assert.Equal(StoreStatus.Ok, Sets.Scan("s"u8, ref cursor, _elements));
            met.UnionWith(Texts());
        }
        while (cursor != 0);
        Assert.Equal(members, met.Count);
    }

    [Theory]
    [InlineData(10)]
    [InlineData(3000)]
    public void A_sorted_set_is_in_the_order_of_its_scores(int members)
    {
        for (int i = members - 1; i >= 0; i--) _scores.Add(Bytes($"m{i:D5}"), i / 2.0);
        Assert.Equal((StoreStatus.Ok, members), (SortedSets.Set("z"u8, _scores, out int added), added));
        Assert.Equal((StoreStatus.Ok, 3.5), (SortedSets.GetScore("z"u8, "m00007"u8, out double score), score));
        Assert.Equal(StoreStatus.NotFound, SortedSets.GetScore("z"u8, "m"u8, out _));
        Assert.Equal((StoreStatus.Ok, 7L), (SortedSets.GetRank("z"u8, "m00007"u8, out long rank, out _), rank));
        Assert.Equal((StoreStatus.Ok, (long)members), (SortedSets.Count("z"u8, out long count), count));
        Assert.Equal((StoreStatus.Ok, 3L), (SortedSets.Count("z"u8, new ScoreRange(1, 2), out count), count));
        Assert.Equal((StoreStatus.Ok, 1L),
            (SortedSets.Count("z"u8, new ScoreRange(1, 2, true, true), out count), count));
        Assert.Equal((StoreStatus.Ok, 0L), (SortedSets.Count("z"u8, new ScoreRange(double.NaN, 2), out count), count));
        Assert.Equal(StoreStatus.Ok, SortedSets.GetRange("z"u8, 0, 2, _scores));
        Assert.Equal(["m00000 0", "m00001 0.5", "m00002 1"], Scored());
        Assert.Equal(StoreStatus.Ok, SortedSets.GetRange("z"u8, 0, 1, _scores, descending: true));
        Assert.Equal($"m{members - 1:D5}", Scored()[0].Split(' ')[0]);
        Assert.Equal(StoreStatus.Ok, SortedSets.GetRange("z"u8, members, -1, _scores));
        Assert.Equal(0, _scores.Count);
        Assert.Equal(StoreStatus.Ok, SortedSets.GetRange("z"u8, new ScoreRange(1, 3), _scores, skip: 1, most: 2));
        Assert.Equal(["m00003 1.5", "m00004 2"], Scored());
        Assert.Equal(StoreStatus.Ok,
            SortedSets.GetRange("z"u8, new ScoreRange(1, 3), _scores, skip: 1, most: 2, descending: true));
        Assert.Equal(["m00005 2.5", "m00004 2"], Scored());
        Assert.Equal(StoreStatus.Ok, SortedSets.GetRange("z"u8, new ScoreRange(1, 3), _scores, skip: 9));
        Assert.Equal(0, _scores.Count);
        var met = new HashSet<string>();
        ulong cursor = 0;
        do
        {
            Assert.Equal(StoreStatus.Ok, SortedSets.Scan("z"u8, ref cursor, _scores));
            met.UnionWith(Scored());
        }
        while (cursor != 0);
        Assert.Equal(members, met.Count);
        Assert.Equal("m00000", Text(SortedSets.Pop("z"u8, greatest: false, out var member, out score), member));
        Assert.Equal((StoreStatus.Ok, 2L), (SortedSets.RemoveRange("z"u8, 0, 1, out long removed), removed));
        Assert.Equal((StoreStatus.Ok, 1L),
            (SortedSets.RemoveRange("z"u8, new ScoreRange(1.5, 1.5), out removed), removed));
        Assert.Equal(StoreStatus.Ok, SortedSets.Pop("z"u8, greatest: true, int.MaxValue, _scores));
        Assert.Equal(members - 4, _scores.Count);
        Assert.Equal(StoreStatus.NotFound, SortedSets.Pop("z"u8, greatest: true, out _, out _));
    }

    [Fact]
    public void Scores_change_as_the_rule_allows()
    {
        Assert.Equal(StoreStatus.NotFound, SortedSets.Set("z"u8, "a"u8, 1, ScoreRule.OnlyExisting, out _));
        Assert.Equal(StoreStatus.Ok, SortedSets.Set("z"u8, "a"u8, 1));
        Assert.Equal((StoreStatus.Ok, ScoreOutcome.Refused),
            (SortedSets.Set("z"u8, "a"u8, 0, ScoreRule.OnlyGreater, out var outcome), outcome));
        Assert.Equal((StoreStatus.Ok, ScoreOutcome.Changed),
            (SortedSets.Set("z"u8, "a"u8, 2, ScoreRule.OnlyGreater, out outcome), outcome));
        Assert.Equal((StoreStatus.Ok, ScoreOutcome.Refused),
            (SortedSets.Set("z"u8, "b"u8, 2, ScoreRule.OnlyExisting, out outcome), outcome));
        Assert.Equal((IncrementStatus.Ok, 4.5), (SortedSets.Increment("z"u8, "a"u8, 2.5, out double score), score));
        Assert.Equal((IncrementStatus.Ok, 7.0), (SortedSets.Increment("z"u8, "c"u8, 7, out score), score));
        Assert.Equal((IncrementStatus.Ok, double.PositiveInfinity),
            (SortedSets.Increment("z"u8, "a"u8, double.PositiveInfinity, out score), score));
        Assert.Equal((IncrementStatus.NotANumber, 0.0),
            (SortedSets.Increment("z"u8, "a"u8, double.NegativeInfinity, out score), score));
        Assert.Throws<ArgumentException>(() => SortedSets.Set("z"u8, "a"u8, double.NaN));
        Assert.Equal(StoreStatus.Ok, SortedSets.Remove("z"u8, "a"u8));
        Assert.Equal(StoreStatus.NotFound, SortedSets.Remove("z"u8, "a"u8));
        _test.Set("text", "v");
        Assert.Equal(IncrementStatus.WrongType, SortedSets.Increment("text"u8, "a"u8, 1, out _));
    }

    [Fact]
    public void Sorted_sets_are_combined_with_weights()
    {
        for (int i = 0; i < 10; i++) SortedSets.Set("z"u8, Bytes("m" + i), i);
        for (int i = 5; i < 15; i++) SortedSets.Set("y"u8, Bytes("m" + i), 100);
        Sets.Add("s"u8, "m7"u8);
        ReadOnlyMemory<byte>[] all = [Bytes("z"), Bytes("y"), Bytes("s")];
        Assert.Equal((StoreStatus.Ok, 15L),
            (SortedSets.CombineInto(SetOperation.Union, "u"u8, all, ScoreAggregate.Sum, [2, 1, 10],
            out long count), count));
        Assert.Equal((StoreStatus.Ok, 124.0), (SortedSets.GetScore("u"u8, "m7"u8, out double score), score));
        Assert.Equal((StoreStatus.Ok, 1L),
            (SortedSets.CombineInto(SetOperation.Intersection, "u"u8, all, ScoreAggregate.Greatest, [],
            out count), count));
        Assert.Equal((StoreStatus.Ok, 100.0), (SortedSets.GetScore("u"u8, "m7"u8, out score), score));
        Assert.Equal((StoreStatus.Ok, 5L),
            (SortedSets.CombineInto(SetOperation.Difference, "z"u8, all, ScoreAggregate.Sum, [], out count), count));
        Assert.Equal((StoreStatus.Ok, 5L), (SortedSets.Count("z"u8, out count), count));
        Assert.Throws<ArgumentException>(
            () => SortedSets.CombineInto(SetOperation.Union, "u"u8, [Bytes("z")], ScoreAggregate.Sum, [1, 2], out _));
    }

    [Fact]
    public void Bits_are_set_counted_found_and_combined()
    {
        var bitmaps = _test.Session.Bitmaps;
        Assert.Equal(StoreStatus.NotFound, bitmaps.Get("h"u8, 0, out _));
        Assert.Equal((StoreStatus.Ok, false), (bitmaps.Set("h"u8, 10, true, out bool was), was));
        Assert.Equal((StoreStatus.Ok, true), (bitmaps.Set("h"u8, 10, true, out was), was));
        Assert.Equal((StoreStatus.Ok, true), (bitmaps.Get("h"u8, 10, out bool isSet), isSet));
        Assert.Equal((StoreStatus.Ok, false), (bitmaps.Get("h"u8, StoreBitmaps.BitMax, out isSet), isSet));
        bitmaps.Set("h"u8, 1_000_000, true, out _);
        Assert.Equal((StoreStatus.Ok, 2L), (bitmaps.Count("h"u8, out long count), count));
        Assert.Equal((StoreStatus.Ok, 1L), (bitmaps.Count("h"u8, 11, 1_000_000, out count), count));
        Assert.Equal((StoreStatus.Ok, 0L), (bitmaps.Count("h"u8, 2_000_000, 3_000_000, out count), count));
        Assert.Equal((StoreStatus.Ok, 1_000_000L), (bitmaps.Find("h"u8, true, 11, out long bit), bit));
        Assert.Equal((StoreStatus.Ok, 11L), (bitmaps.Find("h"u8, false, 10, out bit), bit));
        Assert.Equal((StoreStatus.Ok, -1L), (bitmaps.Find("h"u8, true, 1_000_001, out bit), bit));
        _test.Set("text", "12345");       // kept as a number
        Assert.Equal((StoreStatus.Ok, 17L), (bitmaps.Count("text"u8, out count), count));
        bitmaps.Set("s"u8, 10, true, out _);
        Assert.Equal((StoreStatus.Ok, 125_001L),
            (bitmaps.CombineInto(BitOperation.Xor, "t"u8, [Bytes("h"), Bytes("s"), Bytes("missing")],
            out long bytes), bytes));
        Assert.Equal((StoreStatus.Ok, 1L), (bitmaps.Count("t"u8, out count), count));
        Assert.Equal((StoreStatus.Ok, 2L),
            (bitmaps.CombineInto(BitOperation.Not, "s"u8, [Bytes("s")], out bytes), bytes));
        Assert.Equal((StoreStatus.Ok, 15L), (bitmaps.Count("s"u8, out count), count));
        Assert.Equal((StoreStatus.Ok, 0L),
            (bitmaps.CombineInto(BitOperation.And, "s"u8, [Bytes("missing")], out bytes), bytes));
        Assert.Equal(StoreStatus.NotFound, bitmaps.Count("s"u8, out _));
        Lists.Push("l"u8, ListEnd.Left, "x"u8);
        Assert.Equal(StoreStatus.WrongType, bitmaps.Get("l"u8, 0, out _));
        Assert.Equal(StoreStatus.WrongType, bitmaps.Set("l"u8, 0, true, out _));
        Assert.Equal(StoreStatus.WrongType, bitmaps.CombineInto(BitOperation.Or, "t"u8, [Bytes("l")], out _));
        Assert.Throws<ArgumentOutOfRangeException>(() => bitmaps.Set("h"u8, -1, true, out _));
        Assert.Throws<ArgumentException>(
            () => bitmaps.CombineInto(BitOperation.Not, "t"u8, [Bytes("h"), Bytes("s")], out _));
    }

    // The places and distances of Redis' documentation.
    [Fact]
    public void Places_are_kept_measured_and_found()
    {
        var geo = _test.Session.GeoSets;
        Assert.Equal(StoreStatus.NotFound, geo.Search("z"u8, new GeoPlace(15, 37), 1, _scores));
        Assert.Equal(StoreStatus.Ok, geo.Set("z"u8, "Palermo"u8, new GeoPlace(13.361389, 38.115556)));
        Assert.Equal((StoreStatus.Ok, ScoreOutcome.Added),
            (geo.Set("z"u8, "Catania"u8, new GeoPlace(15.087269, 37.502669), ScoreRule.OnlyNew,
            out var outcome), outcome));
        Assert.Equal((StoreStatus.Ok, ScoreOutcome.Refused),
            (geo.Set("z"u8, "Catania"u8, new GeoPlace(0, 0), ScoreRule.OnlyNew, out outcome), outcome));
        Assert.Equal(StoreStatus.Ok, geo.GetPlace("z"u8, "Palermo"u8, out var place));
        Assert.Equal(13.36138933897018433, place.Longitude, 1e-12);
        Assert.Equal(38.11555639549629859, place.Latitude, 1e-12);
        Assert.Equal(StoreStatus.NotFound, geo.GetPlace("z"u8, "Rome"u8, out _));
        Assert.Equal(StoreStatus.Ok, geo.GetDistance("z"u8, "Palermo"u8, "Catania"u8, out double meters));
        Assert.Equal(166274.1516, meters, 1e-3);
        Assert.Equal(StoreStatus.NotFound, geo.GetDistance("z"u8, "Palermo"u8, "Rome"u8, out meters));
        Assert.Equal(StoreStatus.Ok, geo.Search("z"u8, new GeoPlace(15, 37), 200_000, _scores));
        Assert.Equal(["Catania", "Palermo"], Scored().Select(text => text.Split(' ')[0]));
        Assert.Equal(56441.2578, _scores.Score(0), 1e-3);
        Assert.Equal(StoreStatus.Ok, geo.Search("z"u8, new GeoPlace(15, 37), 200_000, _scores, most: 1));
        Assert.Equal(1, _scores.Count);
        Assert.Equal(StoreStatus.Ok, geo.Search("z"u8, new GeoPlace(15, 37), 100_000, _scores));
        Assert.Equal(1, _scores.Count);
        Assert.Equal(StoreStatus.Ok, geo.Search("z"u8, new GeoPlace(15, 37), 400_000, 400_000, _scores));
        Assert.Equal(2, _scores.Count);
        Assert.Equal(StoreStatus.Ok, geo.Search("z"u8, new GeoPlace(15, 37), 400_000, 100_000, _scores));
        Assert.Equal(0, _scores.Count);
        _test.Set("text", "v");
        Assert.Equal(StoreStatus.WrongType, geo.Search("text"u8, place, 1, _scores));
        Assert.Throws<ArgumentOutOfRangeException>(() => geo.Set("z"u8, "north"u8, new GeoPlace(0, 86)));
        Assert.Throws<ArgumentOutOfRangeException>(() => geo.Search("z"u8, new GeoPlace(0, 0), double.NaN, _scores));
    }

    [Fact]
    public void Different_elements_are_counted_and_merged()
    {
        var logs = _test.Session.HyperLogLogs;
        Assert.Equal(StoreStatus.NotFound, logs.Count("h"u8, out _));
        Assert.Equal((StoreStatus.Ok, true), (logs.Add("h"u8, "a"u8, out bool hasChanged), hasChanged));
        Assert.Equal((StoreStatus.Ok, false), (logs.Add("h"u8, "a"u8, out hasChanged), hasChanged));
        for (int i = 0; i < 20_000; i++) _elements.Add(Bytes("element" + i));
        Assert.Equal((StoreStatus.Ok, true), (logs.Add("h"u8, _elements, out hasChanged), hasChanged));
        Assert.Equal((StoreStatus.Ok, false), (logs.Add("h"u8, _elements, out hasChanged), hasChanged));
        Assert.Equal(StoreStatus.Ok, logs.Count("h"u8, out long count));
        Assert.InRange(count, 19_200, 20_800);
        Assert.Equal((StoreStatus.Ok, count), (logs.Count("h"u8, out long again), again));
        for (int i = 0; i < 100; i++) logs.Add("s"u8, Bytes("other" + i), out _);
        Assert.Equal(StoreStatus.Ok, logs.Count([Bytes("h"), Bytes("s"), Bytes("missing")], out long both));
        Assert.InRange(both, count, count + 300);
        Assert.Equal(StoreStatus.Ok, logs.Merge("t"u8, [Bytes("h"), Bytes("s")]));
        Assert.Equal((StoreStatus.Ok, both), (logs.Count("t"u8, out count), count));
        _test.Set("text", "no such thing");
        Assert.Equal(StoreStatus.WrongType, logs.Add("text"u8, "a"u8, out _));
        Assert.Equal(StoreStatus.WrongType, logs.Count("text"u8, out _));
        Assert.Equal(StoreStatus.WrongType, logs.Count([Bytes("h"), Bytes("text")], out _));
        Assert.Equal(StoreStatus.WrongType, logs.Merge("t"u8, [Bytes("text")]));
        Lists.Push("l"u8, ListEnd.Left, "x"u8);
        Assert.Equal(StoreStatus.WrongType, logs.Add("l"u8, "a"u8, out _));
    }

    [Fact]
    public void A_key_of_another_type_and_a_missing_one_are_told_by_every_operation()
    {
        _test.Set("text", "v");
        ulong cursor = 5;
        foreach (var (key, expected) in ((string, StoreStatus)[])[("text", StoreStatus.WrongType),
            ("missing", StoreStatus.NotFound)])
        {
            byte[] name = Bytes(key);
            StoreStatus[] told =
            [
                Hashes.Get(name, "f"u8, out _), Hashes.Contains(name, "f"u8), Hashes.Count(name, out _),
                Hashes.Remove(name, "f"u8), Hashes.GetAll(name, _fields),
                Hashes.Scan(name, ref cursor, _fields), Hashes.Sample(name, 1, _fields),
                Hashes.SetExpiry(name, "f"u8, 1, FieldExpiryRule.Always, out _),
                Hashes.Persist(name, "f"u8, out _), Hashes.GetExpiry(name, "f"u8, out _),
                Lists.Pop(name, ListEnd.Left, out _), Lists.Pop(name, ListEnd.Left, 1, _elements),
                Lists.Move(name, ListEnd.Left, "l"u8, ListEnd.Left, out _), Lists.Count(name, out _),
                Lists.Get(name, 0, out _), Lists.Set(name, 0, "x"u8), Lists.Insert(name, 0, "x"u8),
                Lists.Find(name, "x"u8, out _), Lists.GetRange(name, 0, -1, _elements),
                Lists.Trim(name, 0, -1), Lists.Remove(name, "x"u8, 1, ListEnd.Left, out _),
                Sets.Remove(name, "x"u8), Sets.Contains(name, "x"u8), Sets.Count(name, out _),
                Sets.Move(name, "s"u8, "x"u8), Sets.Pop(name, out _), Sets.Sample(name, 1, _elements),
                Sets.GetAll(name, _elements), Sets.Scan(name, ref cursor, _elements),
                SortedSets.Remove(name, "x"u8), SortedSets.GetScore(name, "x"u8, out _),
                SortedSets.GetRank(name, "x"u8, out _, out _), SortedSets.Count(name, out _),
                SortedSets.GetRange(name, 0, -1, _scores), SortedSets.GetRange(name, ScoreRange.All, _scores),
                SortedSets.RemoveRange(name, 0, -1, out _),
                SortedSets.RemoveRange(name, ScoreRange.All, out _), SortedSets.Pop(name, false, out _, out _),
                SortedSets.Pop(name, false, 1, _scores), SortedSets.Scan(name, ref cursor, _scores),
            ];
            Assert.All(told, status => Assert.Equal(expected, status));
            Assert.Equal(0UL, cursor);
        }

        _elements.Clear();
        _fields.Clear();
        _scores.Clear();
        _elements.Add("x"u8);
        _fields.Add("x"u8, "y"u8);
        _scores.Add("x"u8, 1);
        StoreStatus[] writes =
        [
            Hashes.Set("text"u8, "f"u8, "v"u8), Hashes.Set("text"u8, _fields, out _),
            Hashes.SetIfAbsent("text"u8, "f"u8, "v"u8, out _),
            Lists.Push("text"u8, ListEnd.Left, "x"u8), Lists.Push("text"u8, ListEnd.Left, _elements, out _),
            Sets.Add("text"u8, "x"u8), Sets.Add("text"u8, _elements, out _),
            SortedSets.Set("text"u8, "x"u8, 1), SortedSets.Set("text"u8, _scores, out _),
        ];
        Assert.All(writes, status => Assert.Equal(StoreStatus.WrongType, status));
        Assert.Equal("v", _test.Get("text"));
    }

    [Fact]
    public void A_refused_allocation_is_a_status_and_changes_nothing()
    {
        for (int i = 0; i < 600; i++)
        {
            Hashes.Set("h"u8, Bytes("f" + i), "v"u8);
            Lists.Push("l"u8, ListEnd.Right, Bytes("e" + i));
            Sets.Add("s"u8, Bytes("m" + i));
            SortedSets.Set("z"u8, Bytes("m" + i), i);
        }

        byte[] large = new byte[300_000];
        _elements.Add(large);
        _fields.Add("large"u8, large);
        _scores.Add(large, 1);
        _test.Store.Budget.Refuse = () => true;
        StoreStatus[] told =
        [
            Hashes.Set("h"u8, "large"u8, large), Hashes.Set("h"u8, _fields, out _),
            Hashes.SetIfAbsent("h"u8, "large"u8, large, out _), Hashes.Set("new"u8, "f"u8, large),
            Lists.Push("l"u8, ListEnd.Left, large), Lists.Push("l"u8, ListEnd.Left, _elements, out _),
            Lists.Set("l"u8, 5, large), Lists.Insert("l"u8, 5, large),
            Sets.Add("s"u8, large), Sets.Add("s"u8, _elements, out _),
            Sets.CombineInto(SetOperation.Union, "u"u8, [Bytes("s")], out _),
            SortedSets.Set("z"u8, large, 1), SortedSets.Set("z"u8, _scores, out _),
            SortedSets.CombineInto(SetOperation.Union, "u"u8, [Bytes("z")], ScoreAggregate.Sum, [], out _),
        ];
        _test.Store.Budget.Refuse = null;
        Assert.All(told, status => Assert.Equal(StoreStatus.OutOfMemory, status));
        Assert.Equal(600, (Hashes.Count("h"u8, out long count), count).count);
        Assert.Equal(600, (Lists.Count("l"u8, out count), count).count);
        Assert.Equal(600, (Sets.Count("s"u8, out count), count).count);
        Assert.Equal(600, (SortedSets.Count("z"u8, out count), count).count);
        Assert.False(_test.Session.Exists(_test.Session.Key("new"u8)));
        Assert.False(_test.Session.Exists(_test.Session.Key("u"u8)));
    }

    [Fact]
    public void A_struct_of_the_callers_sees_an_element_where_it_lies()
    {
        Hashes.Set("h"u8, "f"u8, "value"u8);
        Lists.Push("l"u8, ListEnd.Left, "element"u8);
        var sum = default(SumOfBytes);
        Assert.Equal(StoreStatus.Ok, Hashes.Read("h"u8, "f"u8, ref sum));
        Assert.Equal("value"u8.ToArray().Sum(letter => letter), sum.Sum);
        Assert.Equal(StoreStatus.Ok, Lists.Read("l"u8, 0, ref sum));
        Assert.Equal("element"u8.ToArray().Sum(letter => letter), sum.Sum);
        Assert.Equal(StoreStatus.NotFound, Lists.Read("l"u8, 1, ref sum));
    }

    // A move between two lists beside others that move the same elements: none is lost, none is there twice.
    [Fact]
    public void Moves_of_several_threads_keep_every_element_once()
    {
        const int elements = 200, moves = 20_000;
        for (int i = 0; i < elements; i++) Lists.Push("l"u8, ListEnd.Right, Bytes("e" + i));
        _test.Session.GoOffline();
        Parallel.For(0, 4, thread =>
        {
            for (int i = 0; i < moves; i++)
            {
                using var guard = _test.Store.Enter();
                var lists = guard.Session.Lists;
                var status = (i + thread) % 2 == 0
                    ? lists.Move("l"u8, ListEnd.Left, "m"u8, ListEnd.Right, out var moved)
                    : lists.Move("m"u8, ListEnd.Left, "l"u8, ListEnd.Right, out moved);
                moved.Dispose();
                if (status is not (StoreStatus.Ok or StoreStatus.NotFound))
                    throw new InvalidOperationException($"{status}");
            }
        });
        _test.Begin();
        var all = new List<string>();
        foreach (string key in (string[])["l", "m"])
            if (Lists.GetRange(Bytes(key), 0, -1, _elements) == StoreStatus.Ok) all.AddRange(Texts());
        Assert.Equal(Enumerable.Range(0, elements).Select(i => "e" + i).Order(), all.Order());
    }

    private static byte[] Bytes(string text) => Encoding.ASCII.GetBytes(text);

    private static string Text(StoreStatus status, PooledBytes bytes)
    {
        using (bytes)
        {
            Assert.Equal(StoreStatus.Ok, status);
            return Encoding.ASCII.GetString(bytes.Span);
        }
    }

    private string All(string key)
    {
        Assert.Equal(StoreStatus.Ok, Lists.GetRange(Bytes(key), 0, -1, _elements));
        return string.Join(' ', Texts());
    }

    private string[] Texts() =>
        [.. Enumerable.Range(0, _elements.Count).Select(i => Encoding.ASCII.GetString(_elements[i]))];

    private string[] Scored() =>
        [.. Enumerable.Range(0, _scores.Count)
            .Select(i =>
            FormattableString.Invariant($"{Encoding.ASCII.GetString(_scores.Member(i))} {_scores.Score(i)}"))];

    private Dictionary<string, string> Pairs() =>
        Enumerable.Range(0, _fields.Count).ToDictionary(i => Encoding.ASCII.GetString(_fields.Field(i)),
            i => Encoding.ASCII.GetString(_fields.Value(i)));

    private struct SumOfBytes : IElementRead
    {
        public int Sum { get; private set; }

        public void Read(ReadOnlySpan<byte> element)
        {
            int sum = 0;
            foreach (byte letter in element) sum += letter;
            Sum = sum;
        }
    }
}
