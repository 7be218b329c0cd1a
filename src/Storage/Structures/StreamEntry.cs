using System.Diagnostics;

namespace Kv.Storage;

/// <summary>An entry of a stream: its id, then its fields and values, one pair after the other.</summary>
/// <remarks>Valid until the stream is changed.</remarks>
internal unsafe ref struct StreamEntry
{
    private byte* _field, _at;
    private int _left;

    internal StreamEntry(StreamId id, int fields, byte* sharedFields, byte* content)
    {
        Debug.Assert(fields >= 0, "fields are counted");
        Id = id;
        FieldCount = _left = fields;
        _field = sharedFields;
        _at = content;
    }

    public StreamId Id { get; }

    public int FieldCount { get; }

    /// <summary>Where the next pair is; after the last one, the end of the entry.</summary>
    internal readonly byte* Content => _at;

    /// <summary>The next pair.</summary>
    /// <returns>False at the end.</returns>
    public bool Next(out ReadOnlySpan<byte> field, out ReadOnlySpan<byte> value)
    {
        if (_left == 0)
        {
            field = value = default;
            return false;
        }

        _left--;
        if (_field != null) _field = Read(_field, out field);
        else _at = Read(_at, out field);
        _at = Read(_at, out value);
        return true;
    }

    private static byte* Read(byte* at, out ReadOnlySpan<byte> bytes)
    {
        at = LengthPrefix.Read(at, out int length);
        bytes = new ReadOnlySpan<byte>(at, length);
        return at + length;
    }
}
