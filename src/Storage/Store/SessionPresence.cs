using System.Diagnostics;

namespace Kv.Storage;

//   offline --> online ---------------> online, in the next turn --> offline
//      |           ^                              |  somebody wants a pause
//      |           +---- the pause is over -------+---> waits, offline
//      +---> online in a long pause, turned away: the store is busy

/// <summary>Whether a session of the store is in a turn, and what pauses mean to it: those of others, for which it
/// waits or in which it is turned away, and its own.</summary>
/// <remarks>Threads: the session's, but for <see cref="HolderThread"/>.</remarks>
internal sealed class SessionPresence(Store store, int slot)
{
    /// <summary>Others have stood still for it for this long in one of its turns: they come first then.</summary>
    private static readonly long PauseTicksMax = Stopwatch.Frequency / 1000;

    private const int RetryMs = 1;

    private Thread? _holder;
    private bool _pausesOthers, _isTurnedAway;
    private long _pauseBegin;

    /// <summary>The thread that came online last. From any thread: a stale one was right a moment ago.</summary>
    public string HolderThread => Volatile.Read(ref _holder) is not { } thread ? "nobody yet"
        : thread.Name is { Length: > 0 } name ? $"thread {name}" : $"thread {thread.ManagedThreadId}";

    /// <summary>How long others have stood still for it in this turn, in ticks of the stopwatch.</summary>
    public long PausedTicks { get; private set; }

    /// <summary>Whether its turns go on in a pause that lasts long, so that clients can be told.</summary>
    public bool AnswersInPause { get; set; }

    /// <summary>Whether this turn goes on in somebody else's long pause: nothing may be done with keys.</summary>
    /// <remarks>Once it says no, that holds for the rest of the turn: the pause is over, and another one waits for this
    /// session, which is online.</remarks>
    public bool IsTurnedAway => _isTurnedAway && (_isTurnedAway = store.Pause.IsLong);

    /// <summary>Whether something holds keys, and takes long: nobody can stop all others.</summary>
    public bool MeetsLongWork => store.SteppedHolds.HasLong;

    /// <summary>Whether it is in a turn: what it finds stays there until that ends.</summary>
    public bool IsOnline => store.Epochs.IsOnline(slot);

    /// <summary>Whether all others stand still for it.</summary>
    public bool PausesOthers => _pausesOthers;

    /// <summary>Begins a turn, after those that want a pause.</summary>
    public void Begin()
    {
        PausedTicks = 0;
        if (store.Epochs.IsOnline(slot) && !store.Pause.IsRequested) store.Epochs.Announce(slot);
        else GoOnline();
    }

    /// <summary>Goes online for a session that others drive in turns of their own: those have waited for a pause
    /// already.</summary>
    public void BeginInner()
    {
        _holder = Thread.CurrentThread;
        store.Epochs.Enter(slot);
    }

    /// <summary>Ends the last turn.</summary>
    public void End() => store.Epochs.Leave(slot);

    private void GoOnline()
    {
        _holder = Thread.CurrentThread;
        var pause = store.Pause;
        bool waited = false;
        // Ends: a pause does; a session that is online before another is asked for is waited for, and none begins while
        // one that has waited is about to go on. Its own does not stop it.
        while (true)
        {
            if (pause.IsRequested && !_pausesOthers)
            {
                store.Epochs.Leave(slot);
                if (!waited) pause.BeginWaiting();
                waited = true;
                pause.WaitForEnd(AnswersInPause);
            }

            store.Epochs.Enter(slot);       // with a full fence: either it is seen here, or this session there
            _isTurnedAway = AnswersInPause && !_pausesOthers && pause.IsLong;
            if (pause.IsRequested && !_pausesOthers && !_isTurnedAway) continue;
            if (waited) pause.EndWaiting();
            return;
        }
    }

    /// <inheritdoc cref="StoreSession.TryPauseOthers"/>
    public bool TryPauseOthers() => PausedTicks < PauseTicksMax && TryPauseNow();

    /// <summary><see cref="TryPauseOthers"/> however long others have stood still in this turn: for what no client does
    /// in the way of business.</summary>
    public bool TryPauseNow()
    {
        if (!MeetsLongWork)
        {
            _pausesOthers = store.Pause.TryBegin(slot);
            if (_pausesOthers) _pauseBegin = Stopwatch.GetTimestamp();
            return _pausesOthers;
        }

        if (AnswersInPause) throw new StoreBusyException();
        return false;
    }

    /// <summary>Tries it several times, each of which waits some milliseconds for a session that is in a long turn, or
    /// for long work. Between them this session is in no turn, and the others go on.</summary>
    public bool TryPauseNow(int tries)
    {
        // Ends: after so many tries.
        while (!TryPauseNow())
        {
            if (--tries <= 0) return false;
            End();
            Thread.Sleep(RetryMs);
            Begin();
        }

        return true;
    }

    /// <inheritdoc cref="StoreSession.EndPause"/>
    public void EndPause()
    {
        Debug.Assert(_pausesOthers, "only who stopped the others lets them go on");
        _pausesOthers = false;
        PausedTicks += Stopwatch.GetTimestamp() - _pauseBegin;
        store.Pause.End();
    }

    /// <summary>Says that the pause lasts long: <see cref="AnswersInPause"/>.</summary>
    public void MarkPauseLong()
    {
        Debug.Assert(store.Pause.IsRequested, "somebody has stopped the others");
        store.Pause.MarkLong();
    }

    /// <summary>Takes over the pause of another session, in the middle of its turn. It is called long.</summary>
    public void TakePause(SessionPresence other)
    {
        Debug.Assert(other._pausesOthers, "it has one");
        _pausesOthers = true;
        _pauseBegin = other._pauseBegin;
        other._pausesOthers = false;
        other._isTurnedAway = true;
        store.Pause.MarkLong();
    }
}
