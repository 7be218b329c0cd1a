using System.Diagnostics;

namespace Kv.Server.Tracking;

/// <summary>How one client tracks keys. CLIENT TRACKING ON makes a new one.</summary>
/// <remarks>
/// Threads: the client's own runs its commands, and whoever does an EXEC of it in steps reads what CLIENT CACHING has
/// said; others read the rest, which never changes, but for <see cref="IsBroken"/>.
/// </remarks>
internal sealed class ClientTracking(
    ITrackingClient client, TrackingModes modes, long redirectId, IReadOnlyList<byte[]> prefixes)
{
    private volatile bool _isBroken;
    private bool _endsWithSteps;

    public ITrackingClient Client { get; } = client;

    public TrackingModes Modes { get; } = modes;

    /// <summary>The client that gets the messages; 0: this one.</summary>
    public long RedirectId { get; } = redirectId;

    /// <summary>With BCAST, in the order of their bytes. The empty one is of all keys.</summary>
    public IReadOnlyList<byte[]> Prefixes { get; } = prefixes;

    public bool IsBroadcast => (Modes & TrackingModes.Broadcast) != 0;

    public bool IsNoLoop => (Modes & TrackingModes.NoLoop) != 0;

    /// <summary>Whether a message could not be sent, since the client of <see cref="RedirectId"/> has left.</summary>
    // Volatile: a figure for people, set by whoever changed the key.
    public bool IsBroken
    {
        get => _isBroken;
        set => _isBroken = value;
    }

    /// <summary>CLIENT CACHING was called: the next command, or transaction, is an exception from the rule.</summary>
    public bool IsException { get; private set; }

    /// <summary>Whether the keys that are read now are to be remembered.</summary>
    public bool Remembers =>
        (Modes & (TrackingModes.Broadcast | TrackingModes.OptIn | TrackingModes.OptOut)) switch
        {
            TrackingModes.None => true,
            TrackingModes.OptIn => IsException,
            TrackingModes.OptOut => !IsException,
            _ => false,
        };

    /// <summary>Does CLIENT CACHING.</summary>
    public void Except()
    {
        Debug.Assert((Modes & (TrackingModes.OptIn | TrackingModes.OptOut)) != 0, "there is a rule");
        IsException = true;
    }

    /// <summary>The client's next command begins: one that went on in steps is done by now.</summary>
    public void BeginCommand()
    {
        if (!_endsWithSteps) return;
        IsException = _endsWithSteps = false;
    }

    /// <summary>A command of the client has run, or was refused.</summary>
    /// <param name="isLast">Whether the exception was for it: not for CLIENT, nor between MULTI and EXEC.</param>
    /// <param name="goesOn">Whether it goes on in steps.</param>
    public void EndCommand(bool isLast, bool goesOn)
    {
        if (!isLast || !IsException) return;
        if (goesOn) _endsWithSteps = true;
        else IsException = false;
    }
}
