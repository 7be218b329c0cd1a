using Kv.Server.PubSub;
using Kv.Storage;

namespace Kv.Server.Diagnostics;

/// <summary>The clients that watch all commands (MONITOR).</summary>
/// <remarks>
/// Threads: a client joins and leaves by its own; any thread shows a command. Order: all of them see the lines in one
/// order (<see cref="Channel.Push"/>), and those of one client's commands in the order in which they ran: whoever runs
/// them shows them. Lines of commands that ran on different workers at the same time have no order.
/// Cost: nothing while nobody watches (<see cref="CommandTiming.ShowsAll"/>).
/// </remarks>
/// <param name="charge">Accounts for the native bytes of lines that are on their way.</param>
internal sealed class Monitors(CommandTiming timing, Action<long> charge)
{
    private readonly Channel _all = new([], new Lock());

    /// <summary>Shows a client all commands that begin from here on.</summary>
    /// <returns>Its place, for <see cref="Remove"/>.</returns>
    public Subscription Add(ISubscriber client)
    {
        var place = new Subscription(_all, client);
        lock (_all.Guard)
        {
            _all.AddLatched(place);
            timing.ShowsAll = true;
        }

        return place;
    }

    /// <summary>Ends what <see cref="Add"/> began. When this returns, nothing more is pushed to the client.</summary>
    public void Remove(Subscription place)
    {
        lock (_all.Guard)
        {
            _all.RemoveLatched(place);
            timing.ShowsAll = _all.Count > 0;
        }
    }

    /// <summary>Makes a message of a line; the caller holds the only reference.</summary>
    public SharedMessage Encode(ReadOnlySpan<byte> line)
    {
        Fault.Point("monitor.line");
        return SharedMessage.OfLine(line, charge);
    }

    /// <summary>Hands a line to all who watch; takes the caller's reference.</summary>
    public void Push(SharedMessage line)
    {
        try
        {
            _all.Push(line);
        }
        finally
        {
            line.Release();     // the receivers hold theirs
        }
    }
}
