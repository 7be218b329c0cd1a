using System.Text;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>What clients call the types of values: the reply of TYPE, and what SCAN's TYPE is compared with.</summary>
internal static class DataTypeName
{
    /// <summary>The types that a value can have, in the order in which reports have them.</summary>
    public static readonly DataType[] All =
        [DataType.String, DataType.List, DataType.Set, DataType.SortedSet, DataType.Hash, DataType.Stream];

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

    /// <summary>As text.</summary>
    public static string TextOf(DataType type) => Encoding.ASCII.GetString(Of(type));

    /// <summary>The type of a name, in any case; <see cref="DataType.Any"/> for no name.</summary>
    public static DataType Find(ReadOnlySpan<byte> name)
    {
        foreach (var type in All)
            if (Ascii.EqualsIgnoreCase(name, Of(type))) return type;
        return DataType.Any;
    }
}
