namespace Kv.Tests.Models;

/// <summary>What is left out or done in another order, to see that the model of watched keys notices.</summary>
internal enum WatchFlaw
{
    None,

    /// <summary>A key that a writer holds and that has no value yet counts as absent.</summary>
    HeldIsAbsent,

    /// <summary>Whoever publishes a table looks for the keys before they learn their new database.</summary>
    LooksFirst,

    /// <summary>A writer asks whether the key is watched before it owns it.</summary>
    AsksFirst,

    /// <summary>EXEC does not look whether the watched keys have learnt their new database.</summary>
    IdNotChecked,

    /// <summary>EXEC goes on when they have learnt it, though whoever published the table has not looked for the keys
    /// yet.</summary>
    ReportNotAwaited,

    /// <summary>A writer that began before the table was published does not count for who watched in the database of
    /// before.</summary>
    FormerForgotten,
}

/// <summary>One key of database number 0 that somebody watches or waits for, while it is written and the number gets
/// another database.</summary>
/// <remarks>
/// Steps as <c>RecordChanges</c>, <c>HashIndex.TryInsert</c>, <c>DatabaseTable.Publish</c>, <c>KeyWatches</c> and the
/// blocked command do them, a shared load or store each. Threads, by letter: H holds the key (a placeholder when it is
/// absent), asks, writes, lets go. N holds it likewise, and writes nothing. I inserts it under the bucket's latch. P
/// publishes a table with the other database, under the table's lock, and tells the watchers. X watches, reads, and
/// later does EXEC. B waits, and reads. A wait is a thread that cannot step. EXEC may fail though nothing has changed,
/// where somebody holds the key while the table is published.
/// </remarks>
internal sealed class WatchModel(string threads, string first, WatchFlaw flaw)
{
    private const int Table = 0, TableLock = 1, Id = 2, Changes = 3, Value = 4, Owner = 6, Versions = 8, Reported = 9,
        Former = 10, Threads = 11;
    private const int Pc = 0, Database = 1, Seen = 2, SeenChanges = 3, Result = 4, ThreadBytes = 5;
    private const byte Nobody = 0, Held = 1, Latched = 2, Done = 255, Succeeded = 1, None = 255;

    /// <summary>Walks every interleaving.</summary>
    /// <returns>States visited.</returns>
    /// <exception cref="ModelException">What is wrong.</exception>
    public int Run()
    {
        var start = new byte[Threads + (threads.Length * ThreadBytes)];
        start[Id] = None;
        for (int database = 0; database < 2; database++)
            if (first[database] == '1') start[Value + database] = ++start[Versions];
        var seen = new HashSet<string> { Convert.ToHexString(start) };
        var stack = new Stack<byte[]>([start]);
        while (stack.TryPop(out byte[]? state))
        {
            bool moved = false, done = true;
            for (int thread = 0; thread < threads.Length; thread++)
            {
                var next = (byte[])state.Clone();
                Span<byte> t = next.AsSpan(Threads + (thread * ThreadBytes), ThreadBytes);
                if (t[Pc] == Done) continue;
                done = false;
                if (!Step(threads[thread], next, t)) continue;
                moved = true;
                if (seen.Add(Convert.ToHexString(next))) stack.Push(next);
            }

            if (done) CheckEnd(state);
            else if (!moved) throw new ModelException("deadlock");
        }

        return seen.Count;
    }

    private bool Step(char kind, byte[] s, Span<byte> t) => kind switch
    {
        'P' => Publish(s, t),
        'X' or 'B' => Watch(kind, s, t),
        _ => Write(kind, s, t),
    };

    private bool Write(char kind, byte[] s, Span<byte> t)
    {
        int step = t[Pc]++;
        if (flaw == WatchFlaw.AsksFirst && step is 1 or 2) step = 3 - step;
        switch (step)
        {
            case 0:
                t[Database] = s[Table];
                return true;
            case 1:
                if (s[Owner + t[Database]] != Nobody) return false;
                // Who inserts and finds the key there begins anew, as one who holds it.
                s[Owner + t[Database]] = kind == 'I' && s[Value + t[Database]] == 0 ? Latched : Held;
                return true;
            case 2:
                if (s[Id] == t[Database] || ((s[Former] >> t[Database]) & 1) != 0) s[Changes]++;
                return true;
            default:
                if (kind != 'N') s[Value + t[Database]] = ++s[Versions];
                s[Owner + t[Database]] = Nobody;
                t[Pc] = Done;
                return true;
        }
    }

    private bool Publish(byte[] s, Span<byte> t)
    {
        int step = t[Pc]++;
        if (flaw == WatchFlaw.LooksFirst && step is >= 2 and <= 4) step = step == 4 ? 2 : step + 1;
        switch (step)
        {
            case 0:
                if (s[TableLock] != 0) return false;
                s[TableLock] = 1;
                t[Database] = s[Table];
                return true;
            case 1:
                s[Table] = (byte)(1 - t[Database]);
                return true;
            case 2:
                if (s[Id] == None) return true;
                if (flaw != WatchFlaw.FormerForgotten) s[Former] |= (byte)(1 << s[Id]);
                s[Id] = s[Table];
                return true;
            case 3:
                return TryLook(s, t, t[Database]);
            case 4:
                return TryLook(s, t, 1 - t[Database]);
            case 5:
                if (s[Id] != None && t[Result] != 0) s[Changes]++;
                s[Reported] = s[Table];
                s[TableLock] = 0;
                t[Pc] = Done;
                return true;
            default:
                throw new ModelException("no such step");
        }
    }

    // KeyWatches.Has: a search waits for the bucket's latch, not for a record's lock.
    private bool TryLook(byte[] s, Span<byte> t, int database)
    {
        if (s[Owner + database] == Latched) return false;
        bool has = s[Value + database] != 0 || (s[Owner + database] == Held && flaw != WatchFlaw.HeldIsAbsent);
        if (has) t[Result] = 1;
        return true;
    }

    private bool Watch(char kind, byte[] s, Span<byte> t)
    {
        switch (t[Pc])
        {
            case 0:
                if (s[TableLock] != 0) return false;
                s[Id] = s[Table];
                t[SeenChanges] = s[Changes];
                t[Pc] = 1;
                return true;
            case 1:
                t[Database] = s[Table];
                t[Pc] = 2;
                return true;
            case 2:
                if (s[Owner + t[Database]] != Nobody) return false;
                t[Seen] = s[Value + t[Database]];
                t[Pc] = kind == 'B' ? Done : (byte)3;
                return true;
            case 3:
                t[Database] = s[Table];
                t[Pc] = 4;
                return true;
            case 4:
                if (s[Owner + t[Database]] != Nobody) return false;
                s[Owner + t[Database]] = Held;
                t[Pc] = 5;
                return true;
            case 5:
                bool isOld = (s[Reported] != t[Database] && flaw != WatchFlaw.ReportNotAwaited)
                    || (s[Id] != t[Database] && flaw != WatchFlaw.IdNotChecked);
                if (isOld) s[Owner + t[Database]] = Nobody;
                t[Pc] = isOld ? (byte)7 : (byte)6;
                return true;
            case 6:
                t[Result] = s[Changes] == t[SeenChanges] ? Succeeded : (byte)0;
                if (t[Result] == Succeeded && s[Value + t[Database]] != t[Seen])
                    throw new ModelException("EXEC goes on though the key has changed");
                s[Owner + t[Database]] = Nobody;
                t[Pc] = Done;
                return true;
            default:
                if (s[TableLock] != 0) return false;
                t[Pc] = 3;
                return true;
        }
    }

    private void CheckEnd(byte[] s)
    {
        for (int thread = 0; thread < threads.Length; thread++)
        {
            Span<byte> t = s.AsSpan(Threads + (thread * ThreadBytes), ThreadBytes);
            if (threads[thread] == 'B' && t[Seen] == 0 && s[Value + s[Table]] != 0 && s[Changes] == t[SeenChanges])
                throw new ModelException("there is something at the key, and nobody wakes who waits");
        }
    }
}
