using System.Diagnostics;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Scripting;

//   state:   Running ──► Done      its client is woken, and answers it
//               └──────► Left      the client is gone: what is left of it ends with the script

/// <summary>The rest of a script that stands alone for longer than busy-reply-threshold: a thread of the pool runs it,
/// so that its worker, like all others, can tell its clients that the server is busy.</summary>
/// <remarks>At most one in a store, by the pause. Threads: the pool's runs it; the client's own waits for it, or
/// leaves.</remarks>
internal sealed class LoneRest(ScriptRun run, Session client, StoreSession store)
{
    private const int Running = 0, Done = 1, Left = 2;

    private int _state;

    /// <summary>What it threw, once it is done.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>How long it ran, once it is done; in ticks of <see cref="Stopwatch"/>.</summary>
    public long Ticks { get; private set; }

    // Volatile: who sees it sees all that was done.
    public bool IsDone => Volatile.Read(ref _state) == Done;

    /// <summary>The client goes.</summary>
    /// <returns>False when it is done: its end is the caller's.</returns>
    // Interlocked: of the two who end a run exactly one sees to what it keeps.
    public bool TryLeave() => Interlocked.CompareExchange(ref _state, Left, Running) == Running;

    /// <summary>Runs all of it, with the pause that the session has taken over.</summary>
    public void Run()
    {
        Debug.Assert(store.Presence.PausesOthers, "a script that goes on alone stops all others");
        long begin = Stopwatch.GetTimestamp();
        try
        {
            store.BeginTurn(store.NowMs);
            run.RunRest(store);
        }
        catch (Exception exception)
        {
            Failure = exception;
        }
        finally
        {
            store.Presence.EndPause();
            store.Dispose();
            Ticks = Stopwatch.GetTimestamp() - begin;
        }

        // Full fence: it is done before it is looked whether the client waits.
        if (Interlocked.CompareExchange(ref _state, Done, Running) == Running) client.Unpark();
        else run.Dispose();
    }
}
