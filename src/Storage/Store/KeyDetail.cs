namespace Kv.Storage;

/// <summary>What a <see cref="KeyDetail"/> tells.</summary>
internal enum KeyDetailKind : byte
{
    /// <summary>A member was drawn from a set, and is gone.</summary>
    MemberDrawn,

    /// <summary>A field of a hash is gone because its time had passed.</summary>
    FieldExpired,

    /// <summary>So many entries are left of a stream after it was trimmed.</summary>
    Trimmed,

    /// <summary>A group of a stream has a new consumer.</summary>
    ConsumerAdded,

    /// <summary>An entry of a stream is pending with a consumer from now on.</summary>
    Claimed,

    /// <summary>An entry is no longer pending, since it was deleted.</summary>
    Gone,

    /// <summary>A group has read up to an entry.</summary>
    Read,
}

/// <summary>A part of a change that does not follow from what the command was asked for.</summary>
internal readonly ref struct KeyDetail(KeyDetailKind kind)
{
    public KeyDetailKind Kind => kind;

    /// <summary>Of a set or a hash.</summary>
    public ReadOnlySpan<byte> Member { get; init; }

    public ReadOnlySpan<byte> Group { get; init; }

    public ReadOnlySpan<byte> Consumer { get; init; }

    /// <summary>The entry.</summary>
    public StreamId Id { get; init; }

    /// <summary>The last entry that the group has read.</summary>
    public StreamId LastId { get; init; }

    /// <summary>When it was delivered, in Unix milliseconds.</summary>
    public long DeliveredMs { get; init; }

    /// <summary>How often it was delivered; how many entries there are, or were read.</summary>
    public long Count { get; init; }
}
