namespace Kv.Server.Sessions;

/// <summary>Whether a client gets replies to its commands (CLIENT REPLY).</summary>
internal enum ReplyMode : byte
{
    On,

    /// <summary>No replies.</summary>
    Off,

    /// <summary>No reply to the next command; then <see cref="On"/>.</summary>
    Skip,

    /// <summary>While CLIENT REPLY SKIP runs right after another one: no reply to this one either; then
    /// <see cref="Skip"/>.</summary>
    SkipAgain,
}

/// <summary>What a connection is used for: what CLIENT LIST, CLIENT KILL and the output limits distinguish.</summary>
internal enum ClientKind : byte { Normal, PubSub, Replica, Primary }

/// <summary>Conditions under which the dispatcher looks closer before it runs a session's command.</summary>
[Flags]
internal enum SessionGate : byte
{
    None = 0,

    /// <summary>Only commands flagged NoAuth.</summary>
    Unauthenticated = 1,

    /// <summary>A RESP2 client with a subscription: only a few commands.</summary>
    Subscriber = 2,

    /// <summary>Replies are dropped.</summary>
    Silent = 4,

    /// <summary>Nothing is run for now, or ever again.</summary>
    Stopped = 8,

    /// <summary>In a place kept for administrators: only their commands, while more than maxclients are
    /// connected.</summary>
    Reserved = 16,

    /// <summary>Between MULTI and EXEC: commands are queued.</summary>
    Multi = 32,

    /// <summary>Watches all commands (MONITOR): none that uses keys.</summary>
    Monitoring = 64,

    /// <summary>The client keeps copies of what it reads: keys are noted before they are read, and messages are written
    /// right after the reply.</summary>
    Tracking = 128,
}
