namespace Kv.Storage;

/// <summary>What the store itself knows to have happened to a key, whatever the command was.</summary>
internal enum KeyNote : byte
{
    /// <summary>A command is about to change the key: to those who watch it, that is a change.</summary>
    Changed,

    /// <summary>What is at the key changes, though not what those see who watch it: who has read a stream, what is
    /// remembered of a count.</summary>
    Altered,

    /// <summary>A key that was not there has a value.</summary>
    Added,

    /// <summary>Entries of a stream were removed from its front, with a change of the key.</summary>
    Trimmed,

    /// <summary>The key is gone: somebody has deleted it, or taken its last element.</summary>
    Deleted,

    /// <summary>The key is gone because its time had passed.</summary>
    Expired,

    /// <summary>Fields of a hash are gone because their time had passed.</summary>
    FieldsExpired,

    /// <summary>The key is gone because memory was short.</summary>
    Evicted,

    /// <summary>A read did not find the key.</summary>
    Missed,
}

/// <summary>Is told what happens to keys (keyspace events). One for each session that runs commands; what other threads
/// do goes to the store's own.</summary>
/// <remarks>
/// Called where it happens, mostly with the key's record locked: whoever looks at the key because of it waits for the
/// lock, and sees what was done. So it is quick, and asks nothing of the store.
/// Nobody is called for what <see cref="WatchTable.Heard"/> does not name.
/// </remarks>
internal interface IKeyListener
{
    /// <param name="database">The number of the key's database.</param>
    /// <param name="key">Valid during the call.</param>
    void Hear(KeyNote note, int database, ReadOnlySpan<byte> key);

    /// <summary>Is told what a command, or time, has chosen by itself: who repeats it cannot know.</summary>
    /// <param name="detail">Valid during the call.</param>
    void HearDetail(int database, ReadOnlySpan<byte> key, in KeyDetail detail)
    {
    }

    /// <summary>Whether it wants the value of each key that a session without a listener of its own has
    /// changed: nobody else knows what was done. Of the store's listener only.</summary>
    bool WantsState => false;

    /// <summary>Is told what a key holds that such a session has changed. Under its lock.</summary>
    void HearState(int database, ReadOnlySpan<byte> key, in ValueView value)
    {
    }

    /// <summary>Publishes what it has heard, before a key is let go of.</summary>
    void Settle();
}
