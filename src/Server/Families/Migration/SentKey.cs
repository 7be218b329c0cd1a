using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>A key whose value is on its way to the target, or there.</summary>
/// <param name="name">Pinned.</param>
/// <param name="watch">Since before the value was read; null where the key stays here.</param>
internal sealed class SentKey(byte[] name, KeyWatches? watch) : IDisposable
{
    public byte[] Name => name;

    /// <summary>Whether the target has said that it has the value.</summary>
    public bool IsTaken { get; set; }

    /// <summary>Whether the value is still the one that was sent. By one who holds the key.</summary>
    /// <param name="table">In which it is held.</param>
    public bool IsUnchanged(Database?[] table) => watch != null && watch.AreOf(table) && !watch.HaveChanged;

    public void Dispose() => watch?.Dispose();
}
