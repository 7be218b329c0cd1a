namespace Kv.Storage;

/// <summary>Who works with a session of the store: its name for a line of the log, and who hears of what it
/// does.</summary>
internal interface ISessionUser
{
    /// <summary>What it works on at this moment, and for whom; null where it cannot be told. From any thread: it may be
    /// over already.</summary>
    string? WorkName { get; }

    /// <summary>Makes what is told of the keys that its session changes; null: nobody asks.</summary>
    IKeyListener? ListenOn(StoreSession session) => null;
}
