namespace Kv.Storage;

/// <summary>A key that was taken out of <see cref="TrackedKeys"/>, with its readers. Freed when it is
/// disposed.</summary>
internal readonly unsafe ref struct TakenKey
{
    private readonly TrackedKeys _owner;
    private readonly TrackedEntry* _entry;

    public TakenKey(TrackedKeys owner, TrackedEntry* entry)
    {
        _owner = owner;
        _entry = entry;
    }

    /// <summary>Whether there was none.</summary>
    public bool IsNone => _entry == null;

    public ReadOnlySpan<byte> Bytes => TrackedEntry.KeyOf(_entry);

    public ReadOnlySpan<long> Readers => _entry == null ? [] : TrackedEntry.ReadersOf(_entry);

    public void Dispose()
    {
        if (_entry != null) _owner.Free(_entry);
    }
}
