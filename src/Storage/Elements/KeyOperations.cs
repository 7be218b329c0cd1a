namespace Kv.Storage;

/// <summary>What the operations of the types have in common.</summary>
internal static class KeyOperations
{
    /// <summary>Whether the store takes no element of this length.</summary>
    public static bool IsTooLarge(int length) => length > Store.ValueBytesMax;

    /// <summary>Counts the elements of a collection.</summary>
    public static StoreStatus Count(this StoreSession session, ReadOnlySpan<byte> key, DataType type, out long count)
    {
        scoped var read = new ReadCount(in session.MemberHash);
        var status = session.Read(session.Key(key), type, ref read);
        count = status == StoreStatus.Ok ? read.Count : 0;
        return status;
    }

    /// <summary>Holds two keys of the session's database: indexes 0 and 1.</summary>
    /// <param name="expectedBytes">Of the value of the second, where it is new.</param>
    public static HeldKeys HoldTwo(this StoreSession session, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second,
        int expectedBytes = 8)
    {
        KeyList keys = session.Keys;
        keys.Clear();
        keys.Add(first, session.DatabaseNumber);
        keys.Add(second, session.DatabaseNumber, expectedBytes);
        return session.Hold(keys);
    }

    /// <summary>Holds keys of the session's database: a destination at index 0, if there is one, then those of the
    /// list.</summary>
    public static HeldKeys HoldMany(this StoreSession session, ReadOnlySpan<ReadOnlyMemory<byte>> sources,
        ReadOnlySpan<byte> destination, bool hasDestination)
    {
        KeyList keys = session.Keys;
        keys.Clear();
        if (hasDestination) keys.Add(destination, session.DatabaseNumber);
        foreach (var source in sources) keys.Add(source.Span, session.DatabaseNumber);
        return session.Hold(keys);
    }
}
