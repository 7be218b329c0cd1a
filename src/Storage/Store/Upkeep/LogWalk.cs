using System.Diagnostics;

namespace Kv.Storage;

//  a walk:   database 0: segment 3, 4, 9, ...  |  database 1: segment 7, ...  |  end
//            a segment, give way, another one: for a millisecond, then a pause of many times as long

/// <summary>Walks the records of the whole log, segment by segment, in a small part of the time of one
/// processor.</summary>
/// <param name="pausePerWork">How many times as long as it works it rests.</param>
/// <remarks>A record that moves behind the walk, or is written there, is missed by it. Threads: upkeep's.</remarks>
internal abstract unsafe class LogWalk(Store store, int pausePerWork)
{
    private static readonly long RoundTicks = Stopwatch.Frequency / 1000;

    /// <summary>A round that took longer than this had no processor for the rest, or was compiled meanwhile: it worked
    /// for a millisecond all the same, and half a minute of pause would be no answer to that.</summary>
    private static readonly long WorkTicksMax = 5 * RoundTicks;

    private readonly List<int> _segments = [];
    private int _segment;
    private long _nextAt;

    /// <summary>The number of the database that is walked through.</summary>
    protected int DatabaseNumber { get; private set; }

    /// <summary>Whether there is more of the walk.</summary>
    protected bool Walks { get; private set; }

    /// <summary>Walks on, if it is time.</summary>
    /// <param name="session">In a turn; it may be in another one afterwards.</param>
    public void Run(StoreSession session)
    {
        long begin = Stopwatch.GetTimestamp();
        if (begin < _nextAt) return;
        if (!Walks && !TryBegin(session))
        {
            _nextAt = begin + RestTicks;
            return;
        }

        if (!Walks) Begin();
        // Ends: with the time, or the walk.
        while (Walks && Stopwatch.GetTimestamp() - begin < RoundTicks)
        {
            if (FindNext() is { } database)
            {
                Walk(database, session);
                continue;
            }

            Walks = false;
            End(session);
        }

        EndRound();
        long now = Stopwatch.GetTimestamp();
        _nextAt = now + PauseTicks(now - begin, pausePerWork, Walks ? 0 : RestTicks);
    }

    /// <summary>How long to wait after a round.</summary>
    /// <param name="leastTicks">So long at least.</param>
    internal static long PauseTicks(long workTicks, int pausePerWork, long leastTicks) =>
        Math.Max(pausePerWork * Math.Min(workTicks, WorkTicksMax), leastTicks);

    /// <summary>The least pause between two walks.</summary>
    protected virtual long RestTicks => Stopwatch.Frequency;

    /// <summary>Asked after the pause while there is no walk.</summary>
    /// <returns>Whether another one begins.</returns>
    protected abstract bool TryBegin(StoreSession session);

    /// <summary>Called with each record, alive or not, in a turn of the session.</summary>
    protected abstract void Look(byte* record, ulong word, StoreSession session);

    /// <summary>Called when all records were looked at.</summary>
    protected virtual void End(StoreSession session)
    {
    }

    /// <summary>Called after each round.</summary>
    protected virtual void EndRound()
    {
    }

    /// <summary>Begins at the beginning of the log.</summary>
    protected void Begin()
    {
        (DatabaseNumber, _segment) = (0, 0);
        Walks = true;
    }

    /// <summary>Goes on to the next segment in the order of databases and numbers.</summary>
    /// <returns>Its database; null at the end.</returns>
    private Database? FindNext()
    {
        var table = store.Table;
        for (; DatabaseNumber < table.Length; DatabaseNumber++, _segment = 0)
        {
            if (table[DatabaseNumber] is not { } database) continue;
            // Looked up each time: since the last one segments have come and gone.
            database.Segments.CopyTo(_segments);
            int next = int.MaxValue;
            foreach (int segment in _segments)
                if (segment > _segment) next = Math.Min(next, segment);
            if (next == int.MaxValue) continue;
            _segment = next;
            return database;
        }

        return null;
    }

    private void Walk(Database database, StoreSession session)
    {
        int records = 0;
        var scan = new LogScanner(store.Log, _segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            Look(record, word, session);
            if (++records < store.Room.RecordsPerSlice) continue;
            records = 0;
            session.Tick();
            // The segment is there for as long as the epoch in which it was found alive.
            if (database.IsDropped
                || Volatile.Read(ref *(int*)&store.Log.Info(_segment)->State) >= (int)SegmentState.Retired
                || store.Log.Info(_segment)->DatabaseId != database.Id) break;
        }

        Fault.Point("walk.segment");
        session.GiveWay();
    }
}
