namespace Kv.Storage;

/// <summary>Is told which keys change, whatever the command, so that readers who keep copies can be told.</summary>
internal interface IKeyTracker
{
    /// <summary>The slot of what time does.</summary>
    const int Nobody = -1;

    /// <summary>A key of <see cref="WatchTable.Tracked"/> or <see cref="WatchTable.Told"/>, perhaps, is about to
    /// change, or to go. Called by its owner, before anybody can see it and before the key is let go of: so it is
    /// quick, asks nothing of the store, and does not throw.</summary>
    /// <param name="slot">Of the session that makes the change; <see cref="Nobody"/>: it is of no client's
    /// making.</param>
    /// <param name="hash">The key's.</param>
    /// <param name="key">Valid during the call.</param>
    void NoteChange(int slot, ulong hash, ReadOnlySpan<byte> key);

    /// <summary>All keys of a database have gone, or of all databases. Who selects it from here on does not find
    /// them.</summary>
    void NoteFlush();
}
