namespace Kv.Host;

//   Idle ──► Wanted ──► Running ──► Idle       whoever finds it idle runs
//               ▲          │
//               └──────────┘                   somebody has asked since: what was read may be old

/// <summary>Runs a reload for those who ask for it: one at a time, and one more for all who ask meanwhile. A storm of
/// signals keeps one thread busy, not one each.</summary>
/// <remarks>Threads: any.</remarks>
/// <param name="reload">Does not throw.</param>
internal sealed class Reloads(Action reload)
{
    private const int Idle = 0, Wanted = 1, Running = 2;

    private int _state;

    /// <summary>What is in files when this is called is read, by the caller or by the thread that is at it.</summary>
    public void Ask()
    {
        // Interlocked: of all who find it idle one goes on; who finds it running has left word with this.
        if (Interlocked.Exchange(ref _state, Wanted) != Idle) return;
        // Ends: when nobody has asked since the last round began.
        do
        {
            Interlocked.Exchange(ref _state, Running);      // before files are read
            reload();
        }
        while (Interlocked.CompareExchange(ref _state, Idle, Running) != Running);
    }
}
