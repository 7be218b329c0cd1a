namespace Kv.Server.Notifications;

/// <summary>What <c>notify-keyspace-events</c> asks for: two kinds of channels, and classes of events.</summary>
[Flags]
internal enum KeyEventClasses
{
    None = 0,

    /// <summary>K: channels named by the key.</summary>
    Keyspace = 1 << 0,

    /// <summary>E: channels named by the event.</summary>
    Keyevent = 1 << 1,

    /// <summary>g: commands of no type (DEL, EXPIRE, RENAME).</summary>
    Generic = 1 << 2,
    String = 1 << 3,
    List = 1 << 4,
    Set = 1 << 5,
    Hash = 1 << 6,
    SortedSet = 1 << 7,
    Stream = 1 << 8,
    Expired = 1 << 9,
    Evicted = 1 << 10,

    /// <summary>d: nothing here has modules.</summary>
    Module = 1 << 11,

    /// <summary>m: reads that find no key; not part of <see cref="All"/>.</summary>
    Missed = 1 << 12,

    /// <summary>n: keys that were not there; not part of <see cref="All"/>.</summary>
    New = 1 << 13,

    Channels = Keyspace | Keyevent,

    /// <summary>What is published only for a change that a command makes.</summary>
    Changes = Generic | String | List | Set | Hash | SortedSet | Stream | New,

    /// <summary>What commands have to do with; what expires or is evicted the store itself tells.</summary>
    OfCommands = Changes | Missed,

    /// <summary>A.</summary>
    All = Generic | String | List | Set | Hash | SortedSet | Stream | Expired | Evicted | Module,
}
