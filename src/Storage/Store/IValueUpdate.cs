namespace Kv.Storage;

/// <summary>What an update does to a record.</summary>
public enum Change : byte
{
    /// <summary>Leaves everything as it is.</summary>
    None,

    /// <summary>Writes a new value, described by <see cref="NewValue"/>.</summary>
    Replace,

    /// <summary>Keeps the value and sets <see cref="NewValue.ExpiryMs"/>. Only for a key that exists.</summary>
    Expire,

    /// <summary>Deletes the key.</summary>
    Delete,
}

/// <summary>Reads a value and decides what becomes of it, while the key is held. A struct, so that the calls are
/// inlined.</summary>
public interface IValueUpdate
{
    /// <summary>
    /// Looks at the value (<see cref="ValueView.Exists"/> is false for an absent or expired key) and decides. The view
    /// is stable. May run more than once (an insert that met another begins again): it sets only its own fields.
    /// </summary>
    /// <param name="current">The value as it is now.</param>
    /// <param name="next">Comes with the expiry of the current value (so keeping it is the default); for
    /// <see cref="Change.Replace"/> fill in kind and length, or integer, or block.</param>
    Change Decide(in ValueView current, ref NewValue next);

    /// <summary>Fills the new value: <see cref="NewValue.Length"/> bytes. Called after <see cref="Change.Replace"/> for
    /// <see cref="ValueKind.String"/> and <see cref="ValueKind.GrowingString"/>, unless a block is adopted.</summary>
    /// <remarks>
    /// The content is undefined before, except with <see cref="NewValue.KeepContent"/>. It should not throw: what it
    /// has written over a value in its place by then stays. (From <see cref="Decide"/> an exception changes nothing.)
    /// </remarks>
    void Write(Span<byte> destination);
}

/// <summary>The value that an update wants.</summary>
public ref struct NewValue
{
    /// <summary>No expiry.</summary>
    public const long NoExpiry = Record.NoExpiry;

    /// <summary><see cref="ValueKind.String"/>, <see cref="ValueKind.Integer"/> or
    /// <see cref="ValueKind.GrowingString"/>. The store itself turns a string of over 64 KB into a block.</summary>
    public ValueKind Kind;

    /// <summary>Bytes of the new value, 0 to 512 MB. Not used for an integer.</summary>
    public long Length;

    /// <summary>The value of <see cref="ValueKind.Integer"/>.</summary>
    public long Integer;

    /// <summary>Unix milliseconds, or <see cref="NoExpiry"/>.</summary>
    public long ExpiryMs;

    /// <summary>The destination begins with the current content, cut or followed by zeros up to the new length
    /// (an integer's content is its digits).</summary>
    public bool KeepContent;

    /// <summary>None, or a block whose whole content becomes the value. The store takes a reference of its
    /// own.</summary>
    public Block Block;
}
