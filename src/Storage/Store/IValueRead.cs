namespace Kv.Storage;

/// <summary>Takes what it needs from a value. A struct, so that the call is inlined.</summary>
public interface IValueRead
{
    /// <summary>
    /// Copies what is wanted out of the value. Runs again, from scratch, when a writer changed the record meanwhile: so
    /// it must only set its own fields or write to an output that it can rewind, and must not trust the bytes for more
    /// than a copy (they may be torn; the lengths never reach outside of the record). Not called for an absent key; but
    /// what it took counts only if the whole read has succeeded: the key may be gone, or of another type, when it would
    /// run again.
    /// </summary>
    void Read(in ValueView value);

    /// <summary>Whether it counts as a use of the key: what is not used is evicted first. Not what only looks at it, as
    /// TTL and OBJECT do.</summary>
    static virtual bool IsUse => true;
}

/// <summary>Takes what it needs from many values that existed at one instant.</summary>
public interface IManyRead
{
    /// <summary>Everything read so far is void: rewind to the start. Called before the first value, too.</summary>
    void Restart();

    /// <summary>One value, in the order of the keys. <see cref="ValueView.Exists"/> is false for an absent
    /// key.</summary>
    /// <remarks>As in <see cref="IValueRead.Read"/>, the bytes may be torn until the whole read has
    /// succeeded.</remarks>
    void Read(int index, in ValueView value);

    /// <inheritdoc cref="IValueRead.IsUse"/>
    static virtual bool IsUse => true;
}
