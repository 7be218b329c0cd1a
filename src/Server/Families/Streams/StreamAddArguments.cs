using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What XADD is asked for ahead of the fields, and XTRIM behind the key.</summary>
internal ref struct StreamAddArguments
{
    private const int LeavesMax = 100;
    private const long LimitMax = 1_000_000, LimitMissing = 10_000;

    /// <summary>Do nothing where there is no such key.</summary>
    public bool CreatesNone;

    /// <summary>An id was given; else it comes from the clock.</summary>
    public bool HasId;

    /// <summary>The given id is whole; else its number is the next one of its millisecond.</summary>
    public bool HasNumber;

    public StreamId Id;

    /// <summary>Something is to be removed.</summary>
    public bool Trims;

    public StreamTrim Trim;

    /// <summary>Index of the first field.</summary>
    public int First;

    /// <summary>Reads them.</summary>
    /// <param name="isAdd">Of XADD, which has an id at the end.</param>
    /// <returns>False when an error was answered.</returns>
    public bool TryRead(ref CommandContext context, bool isAdd)
    {
        bool hasLimit = false;
        int count = context.Args.Count, i = context.Args.Position;
        // Ends: each round passes at least one argument.
        for (; i < count; i++)
        {
            var word = context.Args[i].Span;
            bool hasMore = i + 1 < count;
            // The common case first: an id from the clock.
            if (isAdd && word is [(byte)'*']) break;
            if (hasMore && CommandName.Equal("MAXLEN"u8, word))
            {
                if (!TryReadThreshold(ref context, ref i, isByAge: false)) return false;
            }
            else if (hasMore && CommandName.Equal("MINID"u8, word))
            {
                if (!TryReadThreshold(ref context, ref i, isByAge: true)) return false;
            }
            else if (hasMore && CommandName.Equal("LIMIT"u8, word))
            {
                if (!NumberText.TryParseInt64(context.Args[++i].Span, out Trim.Limit))
                    return Fail(ref context, Errors.NotAnInteger);
                if (Trim.Limit < 0) return Fail(ref context, "ERR The LIMIT argument must be >= 0."u8);
                hasLimit = true;
            }
            else if (isAdd && CommandName.Equal("NOMKSTREAM"u8, word))
            {
                CreatesNone = true;
            }
            else if (!isAdd)
            {
                return Fail(ref context, Errors.Syntax);
            }
            else
            {
                if (!StreamIdText.TryParse(word, 0, out Id, out HasNumber))
                    return Fail(ref context, StreamIdText.Invalid);
                HasId = true;
                break;
            }
        }

        First = i + 1;
        return TryFinish(ref context, isAdd, hasLimit);
    }

    private bool TryFinish(ref CommandContext context, bool isAdd, bool hasLimit)
    {
        if (!Trims && Trim.Limit != 0)
            return Fail(ref context, "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"u8);
        if (!Trims && !isAdd)
            return Fail(ref context, "ERR syntax error, XTRIM must be called with a trimming strategy"u8);
        if (hasLimit)
            return Trim.IsApproximate
                || Fail(ref context, "ERR syntax error, LIMIT cannot be used without the special ~ option"u8);
        if (!Trim.IsApproximate) return true;
        long entries = context.Server.Options.PackedLimits.StreamNodeEntries;
        Trim.Limit = entries <= 0 ? LimitMissing : entries >= LimitMax / LeavesMax ? LimitMax : LeavesMax * entries;
        return true;
    }

    private bool TryReadThreshold(ref CommandContext context, ref int i, bool isByAge)
    {
        if (Trims)
            return Fail(ref context,
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"u8);
        Trims = true;
        Trim.IsByAge = isByAge;
        var sign = context.Args[++i].Span;
        Trim.IsApproximate = false;
        if (i + 1 < context.Args.Count && sign is [(byte)'~' or (byte)'='])
        {
            Trim.IsApproximate = sign[0] == '~';
            i++;
        }

        var threshold = context.Args[i].Span;
        if (isByAge)
            return StreamIdText.TryParse(threshold, 0, out Trim.MinId) || Fail(ref context, StreamIdText.Invalid);
        if (!NumberText.TryParseInt64(threshold, out Trim.MaxLength)) return Fail(ref context, Errors.NotAnInteger);
        return Trim.MaxLength >= 0 || Fail(ref context, "ERR The MAXLEN argument must be >= 0."u8);
    }

    private static bool Fail(ref CommandContext context, ReadOnlySpan<byte> error)
    {
        context.Fail(error);
        return false;
    }
}

/// <summary>Fields and values where they were received.</summary>
internal readonly unsafe ref struct StreamItems(Argument* first, int fields) : IStreamItems
{
    public int Fields => fields;

    public ReadOnlySpan<byte> Field(int index) => first[2 * index].Span;

    public ReadOnlySpan<byte> Value(int index) => first[(2 * index) + 1].Span;
}
