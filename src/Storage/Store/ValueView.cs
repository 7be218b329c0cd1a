namespace Kv.Storage;

/// <summary>A value as a reader or an update sees it; valid only inside of the call that it was given to.</summary>
public readonly unsafe ref struct ValueView
{
    /// <summary>False for an absent or expired key.</summary>
    public bool Exists => throw null!;
    public ValueKind Kind => throw null!;
    public DataType Type => throw null!;
    /// <summary>Content of a string that is held as bytes (all kinds but <see cref="ValueKind.Integer"/>).</summary>
    public ReadOnlySpan<byte> Bytes => throw null!;
    /// <summary>Value of <see cref="ValueKind.Integer"/>.</summary>
    public long Integer => throw null!;
    /// <summary>Unix milliseconds or -1.</summary>
    public long ExpiryMs => throw null!;
    /// <summary>Length of the string's text (digits of an integer included).</summary>
    public long StringLength => throw null!;
    /// <summary>The block of a <see cref="ValueKind.BlockString"/>: take a reference (AddReference) before the read ends to send it without a copy.</summary>
    public Block Block => throw null!;
    /// <summary>Bytes that key and value hold in the log, with header and block.</summary>
    public long FootprintBytes => throw null!;
    /// <summary>Seconds since the record's segment was last written (OBJECT IDLETIME).</summary>
    public long IdleSeconds => throw null!;
}
