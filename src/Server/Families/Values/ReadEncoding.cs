using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>How Redis would keep a value: the encoding in OBJECT ENCODING and DEBUG OBJECT.</summary>
/// <remarks>
/// A string that is an integer is "int", up to 44 bytes it is "embstr", else "raw"; what APPEND or SETRANGE changed is
/// "raw" whatever its length.
/// </remarks>
internal struct ReadEncoding : IValueRead
{
    private const int EmbeddedBytesMax = 44;
    private ValueKind _kind;
    private bool _isEmbedded, _hasExpiries;

    /// <summary>Whether the string is kept as a number, or would be.</summary>
    public bool IsInteger;

    public long Integer;

    /// <summary>OBJECT only looks at a key.</summary>
    public static bool IsUse => false;

    public readonly ReadOnlySpan<byte> Name => _kind switch
    {
        ValueKind.PackedHash when _hasExpiries => "listpackex"u8,
        ValueKind.PackedList or ValueKind.PackedHash or ValueKind.PackedSet
        or ValueKind.PackedSortedSet => "listpack"u8,
        ValueKind.IntegerSet => "intset"u8,
        ValueKind.Hash or ValueKind.Set => "hashtable"u8,
        ValueKind.List => "quicklist"u8,
        ValueKind.SortedSet => "skiplist"u8,
        ValueKind.Stream => "stream"u8,
        _ => IsInteger ? "int"u8 : _isEmbedded ? "embstr"u8 : "raw"u8,
    };

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        _kind = value.Kind;
        _isEmbedded = false;
        _hasExpiries = value.Kind == ValueKind.PackedHash && new PackedFields(value.Run).HasExpiries;
        IsInteger = value.Kind == ValueKind.Integer;
        if (IsInteger)
        {
            Integer = value.Integer;
        }
        else if (value.Kind == ValueKind.String)
        {
            IsInteger = NumberText.TryParseInt64(value.Bytes, out Integer);
            _isEmbedded = value.Bytes.Length <= EmbeddedBytesMax;
        }
    }
}
