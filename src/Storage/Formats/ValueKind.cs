namespace Kv.Storage;

/// <summary>How a record's value is held. The numbers reach packed words and files: add, never change.</summary>
public enum ValueKind : byte
{
    /// <summary>Dead space between records, so that a walk of a segment always knows each extent.</summary>
    Filler = 0,

    /// <summary>The bytes of a string, as they were sent.</summary>
    String = 1,

    /// <summary>A string that is the decimal text of a 64-bit integer, kept as 8 bytes, little endian.</summary>
    Integer = 2,

    /// <summary>A string that APPEND, SETRANGE, SETBIT or PFADD made: 4 bytes of length, then content and spare
    /// capacity.</summary>
    GrowingString = 3,

    /// <summary>A string of over 64 KB: 8 bytes of pointer to a <see cref="Block"/>.</summary>
    BlockString = 4,

    /// <summary>A small list: a run of elements (<see cref="PackedRun"/>).</summary>
    PackedList = 5,

    /// <summary>A small hash: a run of fields, each followed by its value.</summary>
    PackedHash = 6,

    /// <summary>A small set: a run of members.</summary>
    PackedSet = 7,

    /// <summary>A small set of integers: an ascending array of them.</summary>
    IntegerSet = 8,

    /// <summary>A small sorted set: a run of members, each followed by its score, in the order of the scores.</summary>
    PackedSortedSet = 9,

    /// <summary>A large list. This and those below: 8 bytes of pointer to a <see cref="Region"/>.</summary>
    List = 10,
    Hash = 11,
    Set = 12,
    SortedSet = 13,
    Stream = 14,

    /// <summary>An absent key that a multi-key command has locked; never seen unlocked.</summary>
    Placeholder = 15,
}

/// <summary>What a client sees as the type of a key.</summary>
public enum DataType : byte
{
    /// <summary>No key; as an expectation: any type will do.</summary>
    Any = 0,
    String = 1,
    List = 2,
    Set = 3,
    SortedSet = 4,
    Hash = 5,
    Stream = 6,
}

/// <summary>What a kind is to a client.</summary>
public static class ValueKinds
{
    /// <summary>The data type that clients see for a kind of value.</summary>
    public static DataType TypeOf(ValueKind kind) => kind switch
    {
        ValueKind.String or ValueKind.Integer or ValueKind.GrowingString or ValueKind.BlockString => DataType.String,
        ValueKind.PackedList or ValueKind.List => DataType.List,
        ValueKind.PackedHash or ValueKind.Hash => DataType.Hash,
        ValueKind.PackedSet or ValueKind.IntegerSet or ValueKind.Set => DataType.Set,
        ValueKind.PackedSortedSet or ValueKind.SortedSet => DataType.SortedSet,
        ValueKind.Stream => DataType.Stream,
        _ => DataType.Any,
    };
}
