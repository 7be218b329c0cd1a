using System.Globalization;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>When two servers' replies to the same command count as equal.</summary>
internal static class ReplyComparer
{
    /// <summary>Texts that 7.2 changed, or that we word differently on purpose: ours, theirs. Reviewed one by
    /// one.</summary>
    private static readonly (string Ours, string Theirs)[] KnownTexts =
    [
        ("ERR The command has no key arguments", "ERR wrong number of arguments for 'command|getkeys' command"),
        ("ERR Invalid number of arguments specified for command",
            "ERR wrong number of arguments for 'command|getkeys' command"),
        ("ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified.",
            "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."),
        ("ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified.",
            "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."),
        ("ERR The ID specified in XADD is equal or smaller than the target stream top item",
            "ERR Elements are too large to be stored"),
        ("ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by "
            + "specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty "
            + "result set.",
            "ERR Invalid stream ID specified as stream command argument"),     // an id since 7.4
        // of blocking commands: what no integer holds
        ("ERR timeout is out of range", "ERR timeout is negative"),
    ];

    /// <summary>Whether ours is right, given theirs.</summary>
    internal static bool IsEqual(byte[][] command, Reply ours, Reply theirs)
    {
        if (ours.IsSame(theirs)) return true;
        if (ScriptCall.CalledBy(command) is { } called)
            return IsEqual(called, ScriptCall.Bare(command, ours), ScriptCall.Bare(command, theirs));
        if (ours.IsError && theirs.IsError)
            return IsSameUnknownCommand(command, ours, theirs) || IsRangeAheadOfType(command, theirs)
                || KnownTexts.Any(known => known.Ours == ours.String && known.Theirs == theirs.String);
        if (IsStaleRange(command, ours, theirs)) return true;
        string name = Reply.Latin(command[0]).ToUpperInvariant();
        // 7.0 answers for an absent key before it looks at the range; 7.2 refuses a bad one.
        if (name is "BITCOUNT" or "BITPOS" && ours.IsError && theirs.Type == ':') return theirs.Integer is 0 or -1;
        // The reference finds a key here that has expired and not been swept.
        if (name == "MEMORY") return ours.IsNull || ours.Type == ':';
        // Known here whatever the policy is.
        if (name == "OBJECT" && theirs.IsError && Word(command, 1) == "FREQ") return ours.Type == ':';
        if (ours.Type != theirs.Type) return false;
        if (name is "XINFO" or "XPENDING") return IsSameOfStream(ours, theirs);
        if (name is (['Z', ..] or ['B', 'Z', ..]) and not ("ZSCAN" or "ZRANDMEMBER"))
            return IsSameWithScores(ours, theirs);
        switch (name)
        {
            case "SORT" or "SORT_RO": return IsSameSorted(command, ours, theirs);
            case "KEYS": return IsSameInAnyOrder(ours, theirs);
            case "SCAN":
                return ours.Items is [var a, var x] && theirs.Items is [var b, var y] && a.IsSame(b)
                    && IsSameInAnyOrder(x, y);
            case "SMEMBERS" or "SINTER" or "SUNION" or "SDIFF" or "SPOP" or "HKEYS"
                or "HVALS": return IsSameInAnyOrder(ours, theirs);
            case "HGETALL": return IsSamePairsInAnyOrder(ours, theirs);
            case "SSCAN": return ours.Items is [var c, var m] && theirs.Items is [var d, var n] && c.IsSame(d)
                && IsSameInAnyOrder(m, n);
            case "HSCAN": return ours.Items is [var e, var p] && theirs.Items is [var f, var q] && e.IsSame(f)
                && IsSamePairsInAnyOrder(p, q);
            case "ZSCAN": return ours.Items is [var i, var r] && theirs.Items is [var j, var t] && i.IsSame(j)
                && Scores(r).SequenceEqual(Scores(t));
            case "SRANDMEMBER" or "HRANDFIELD" or "ZRANDMEMBER": return ours.Items?.Count == theirs.Items?.Count;
            // Of collections the order, and what is packed, may differ; strings have one form.
            case "DUMP": return ours.Text is not null && theirs.Text is [not 0, ..];
            case "PUBSUB": return ours.Items is not null && IsSameInAnyOrder(ours, theirs);
            case "XGROUP": return Word(command, 1) == "CREATECONSUMER" && ours.Type == ':' && ours.Integer == 0
                && theirs.Integer == 1;
            case "TTL" or "EXPIRETIME": return IsNear(ours, theirs, 2);
            case "PTTL" or "PEXPIRETIME": return IsNear(ours, theirs, 2000);
            case "RANDOMKEY": return ours.IsNull == theirs.IsNull;
            case "TIME": return ours.Items?.Count == theirs.Items?.Count;
            case "OBJECT": return Word(command, 1) is "IDLETIME"
                ? ours.Type == ':' : IsWrittenOtherwise(ours, theirs) || IsPackedSince70(ours, theirs);
            case "DBSIZE": return true; // counts keys that have expired until they are swept
            default: return false;
        }
    }

    // What has no order, or the same place in it, comes as it is kept. Texts have the same place there when they are
    // the same up to a NUL; which ones were sorted does not show where others are got for them.
    private static bool IsSameSorted(byte[][] command, Reply ours, Reply theirs) =>
        ours.Items is not null && theirs.Items is not null
        && (Has(command, "BY") || (Has(command, "ALPHA") && Has(command, "GET"))
            || ours.Items.Concat(theirs.Items).Any(item => item.Text?.Contains((byte)0) == true))
        && (Has(command, "LIMIT") ? ours.Items.Count == theirs.Items.Count : IsSameInAnyOrder(ours, theirs));

    private static bool Has(byte[][] command, string word) =>
        command.Any(given => Reply.Latin(given).Equals(word, StringComparison.OrdinalIgnoreCase));

    // Once a number was beyond what a double holds, it takes no other for one until something else resets its errno.
    private static bool IsStaleRange(byte[][] command, Reply ours, Reply theirs) =>
        Word(command, 0) is "SORT" or "SORT_RO" && ours.Type is '*' && theirs.IsError
        && theirs.String == "ERR One or more scores can't be converted into double";

    // 7.0 ends an argument's echo at its first NUL; we write a space, as for every control byte.
    private static bool IsSameUnknownCommand(byte[][] command, Reply ours, Reply theirs) =>
        command.Any(word => word.Contains((byte)0))
        && (ours.String.StartsWith("ERR unknown ", StringComparison.Ordinal)
            || ours.String.StartsWith("NOGROUP No such ", StringComparison.Ordinal)
            || ours.String.StartsWith("ERR Unrecognized XCLAIM option", StringComparison.Ordinal))
        && theirs.String.StartsWith(ours.String[..16], StringComparison.Ordinal);

    // SETBIT and BITFIELD that change no bit make it "raw" there. What INCRBYFLOAT leaves is "embstr" there and, when
    // its digits are an integer's, "int" here, as after SET. A small one is shared by all its users there, so that its
    // REFCOUNT tells the same difference.
    private static bool IsWrittenOtherwise(Reply ours, Reply theirs) =>
        (ours.Text.AsSpan().SequenceEqual("embstr"u8) && theirs.Text.AsSpan().SequenceEqual("raw"u8))
        || (ours.Text.AsSpan().SequenceEqual("int"u8)
            && (theirs.Text.AsSpan().SequenceEqual("embstr"u8) || theirs.Text.AsSpan().SequenceEqual("raw"u8)))
        || (ours.Type == ':' && theirs.Type == ':' && ours.Integer == int.MaxValue && theirs.Integer == 1);

    // 7.2 reads BITCOUNT's and BITPOS' range before it looks at the key, 7.0 behind it.
    private static bool IsRangeAheadOfType(byte[][] command, Reply theirs) =>
        Word(command, 0) is "BITCOUNT" or "BITPOS" && theirs.String.StartsWith("WRONGTYPE", StringComparison.Ordinal);

    // 7.2 packs small sets of any members and small lists; 7.0 only sets of integers, and every list is a quicklist.
    private static bool IsPackedSince70(Reply ours, Reply theirs) =>
        ours.Text.AsSpan().SequenceEqual("listpack"u8)
        && (theirs.Text.AsSpan().SequenceEqual("hashtable"u8) || theirs.Text.AsSpan().SequenceEqual("quicklist"u8));

    // Times are those of two clocks; 7.2 tells more of consumers; how a radix tree is divided is nobody's promise.
    private static bool IsSameOfStream(Reply ours, Reply theirs)
    {
        if (ours.IsSame(theirs)) return true;
        if (ours.Type == ':') return theirs.Type == ':' && ours.Integer > 400_000_000
            && Math.Abs(ours.Integer - theirs.Integer) <= 60_000;
        if (ours.Items is null || theirs.Items is null || ours.Type != theirs.Type) return false;
        // An entry of XPENDING: id, consumer, idle, deliveries.
        if (ours.Items is [{ Type: '$' }, { Type: '$' }, { Type: ':' }, { Type: ':' }]
            && theirs.Items is [_, _, { Type: ':' }, _])
            return ours.Items[0].IsSame(theirs.Items[0]) && ours.Items[1].IsSame(theirs.Items[1])
                && ours.Items[3].IsSame(theirs.Items[3]) && IsNear(ours.Items[2], theirs.Items[2], 60_000);
        List<Reply> mine = WithoutTimes(ours.Items), other = WithoutTimes(theirs.Items);
        return mine.Count == other.Count && mine.Zip(other).All(pair => IsSameOfStream(pair.First, pair.Second));
    }

    private static List<Reply> WithoutTimes(IReadOnlyList<Reply> items)
    {
        var kept = new List<Reply>();
        for (int i = 0; i < items.Count; i++)
        {
            string word = items[i].Text is { } text ? Reply.Latin(text) : "";
            if (word is "idle" or "inactive" or "seen-time" or "active-time" or "radix-tree-nodes") i++;
            else if (word == "consumers" && i + 1 < items.Count && items[i + 1].Type == ':') i++;
            else if (!IsIdleConsumer(items[i])) kept.Add(items[i]);
        }

        return kept;
    }

    // 7.2 makes a consumer as soon as it asks for anything, 7.0 as soon as XCLAIM finds something for it.
    private static bool IsIdleConsumer(Reply reply) =>
        reply.Items is [{ Text: { } first }, _, { Text: { } second }, ..] items
        && first.AsSpan().SequenceEqual("name"u8)
        && (second.AsSpan().SequenceEqual("seen-time"u8)
            || (items.Count > 4 && items[4].Text is { } third && third.AsSpan().SequenceEqual("idle"u8)))
        && Enumerable.Range(0, items.Count / 2).Any(i => items[2 * i].Text is { } key && Reply.Latin(key) is "pending"
            or "pel-count" && items[(2 * i) + 1] is { Type: ':', Integer: 0 });

    private static bool IsSamePairsInAnyOrder(Reply ours, Reply theirs)
    {
        if (ours.Items is null || theirs.Items is null || ours.Items.Count != theirs.Items.Count
            || ours.Items.Count % 2 != 0) return false;
        return Pairs(ours).SequenceEqual(Pairs(theirs));
        static IEnumerable<string> Pairs(Reply reply) =>
            reply.Items!.Chunk(2).Select(pair => $"{Text(pair[0])} {Text(pair[1])}").Order(StringComparer.Ordinal);
    }

    // 7.0 prints scores with 17 digits, 7.2 the shortest text that reads back the same.
    private static bool IsSameWithScores(Reply ours, Reply theirs)
    {
        if (ours.Type != theirs.Type) return false;
        if (ours.Items is not null && theirs.Items is not null)
            return ours.Items.Count == theirs.Items.Count
                && ours.Items.Zip(theirs.Items).All(pair => IsSameWithScores(pair.First, pair.Second));
        return ours.IsSame(theirs)
            || (ours.Type is '$' or ',' && (ours.String == "-0" ? "0" : ours.String) == Shortest(theirs.String));
    }

    private static IEnumerable<string> Scores(Reply pairs) =>
        pairs.Items!.Chunk(2).Select(pair => $"{pair[0]} {Shortest(pair[1].String)}").Order(StringComparer.Ordinal);

    private static string Shortest(string text)
    {
        if (!NumberText.TryParseDouble(RespText.Bytes(text), out double value)) return text;
        Span<byte> shortest = stackalloc byte[NumberText.MaxDoubleBytes];
        // A packed set there has whole numbers, so no -0; which element is the one too many for it differs by one.
        return Reply.Latin(shortest[..NumberText.FormatDouble(value + 0.0, shortest)]);
    }

    private static bool IsNear(Reply ours, Reply theirs, long distance) =>
        ours.Type == ':' && ours.Integer >= 0 && theirs.Integer >= 0
        && Math.Abs(ours.Integer - theirs.Integer) <= distance;

    private static bool IsSameInAnyOrder(Reply ours, Reply theirs)
    {
        if (ours.Items is null || theirs.Items is null || ours.Items.Count != theirs.Items.Count) return false;
        return ours.Items.Select(Text).Order(StringComparer.Ordinal)
            .SequenceEqual(theirs.Items.Select(Text).Order(StringComparer.Ordinal));
    }

    private static string Text(Reply reply) => string.Create(CultureInfo.InvariantCulture, $"{reply}");

    private static string Word(byte[][] command, int index) =>
        index < command.Length ? Reply.Latin(command[index]).ToUpperInvariant() : "";
}
