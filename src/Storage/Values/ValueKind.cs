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

    /// <summary>A string that APPEND, SETRANGE or SETBIT made: 4 bytes of length, then content and spare capacity.</summary>
    GrowingString = 3,

    /// <summary>A string of over 64 KB: 8 bytes of pointer to a <see cref="Block"/>.</summary>
    BlockString = 4,

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
        _ => DataType.Any,
    };
}
