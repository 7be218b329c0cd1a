namespace Kv.Storage;

/// <summary>Reads a bit of a string; past its end all are 0.</summary>
internal struct ReadOneBit : IValueRead
{
    public long Offset;
    public bool On;

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        Span<byte> digits = stackalloc byte[IntegerText.DigitsMax];
        On = Bitmap.Get(value.Kind == ValueKind.Integer
            ? IntegerText.Format(value.Integer, digits) : value.Bytes, Offset);
    }
}
