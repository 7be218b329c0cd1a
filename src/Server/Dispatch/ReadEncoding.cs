using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>How Redis would keep a value: what OBJECT ENCODING and DEBUG OBJECT tell.</summary>
/// <remarks>
/// A string that is an integer is "int", up to 44 bytes it is "embstr", else "raw"; what APPEND or SETRANGE changed is
/// "raw" whatever its length.
/// </remarks>
internal struct ReadEncoding : IValueRead
{
    private const int EmbeddedBytesMax = 44;
    private DataType _type;
    private bool _isEmbedded;

    /// <summary>Whether the string is kept as a number, or would be.</summary>
    public bool IsInteger;

    public long Integer;

    public readonly ReadOnlySpan<byte> Name => _type != DataType.String ? "raw"u8 : IsInteger ? "int"u8 : _isEmbedded ? "embstr"u8 : "raw"u8;

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        _type = value.Type;
        _isEmbedded = false;
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
