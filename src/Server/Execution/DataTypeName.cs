using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What clients call the types of values: the reply of TYPE, and what SCAN's TYPE is compared with.</summary>
internal static class DataTypeName
{
    public static ReadOnlySpan<byte> Of(DataType type) => type switch
    {
        DataType.String => "string"u8,
        DataType.List => "list"u8,
        DataType.Set => "set"u8,
        DataType.SortedSet => "zset"u8,
        DataType.Hash => "hash"u8,
        DataType.Stream => "stream"u8,
        _ => "none"u8,
    };
}
