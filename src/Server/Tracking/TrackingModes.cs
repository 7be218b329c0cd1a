namespace Kv.Server.Tracking;

/// <summary>How a client wants to be told of keys that change (CLIENT TRACKING).</summary>
[Flags]
internal enum TrackingModes : byte
{
    /// <summary>Of each key that it has read.</summary>
    None = 0,

    /// <summary>BCAST: of all keys that begin in some way, whether it has read them or not.</summary>
    Broadcast = 1,

    /// <summary>OPTIN: only of those that it reads right after CLIENT CACHING YES.</summary>
    OptIn = 2,

    /// <summary>OPTOUT: not of those that it reads right after CLIENT CACHING NO.</summary>
    OptOut = 4,

    /// <summary>NOLOOP: not of what it changes itself.</summary>
    NoLoop = 8,
}
