namespace Kv.Storage;

/// <summary>One session's segment writers: one for each database that it writes to.</summary>
/// <remarks>Threads: the session's only.</remarks>
internal sealed class SegmentWriters(SegmentedLog log, MemoryBudget budget, EpochTable epochs, SegmentQueue queue)
{
    private SegmentWriter?[] _writers = new SegmentWriter?[1];

    /// <summary>The session's writer for a database.</summary>
    /// <returns>Null when the system refused the memory for one.</returns>
    public SegmentWriter? For(SegmentSet owner)
    {
        foreach (SegmentWriter? writer in _writers)
            if (writer != null && writer.Owner == owner) return writer;
        try
        {
            return ForSlow();
        }
        catch (OutOfMemoryException)
        {
            return null;
        }
    }

    /// <summary>Returns a writer whose database is no more, or a new one: there are at most as many as databases that
    /// are written to.</summary>
    private SegmentWriter ForSlow()
    {
        for (int i = 0; i < _writers.Length; i++)
        {
            if (_writers[i] is { } used && used.Owner is { IsDropped: false }) continue;
            return _writers[i] ??= new SegmentWriter(log, budget, epochs, queue);
        }

        int count = _writers.Length;
        Array.Resize(ref _writers, count * 2);
        return _writers[count] = new SegmentWriter(log, budget, epochs, queue);
    }

    /// <summary>Gives up the segments in which much is dead.</summary>
    public void SealDead()
    {
        foreach (SegmentWriter? writer in _writers) writer?.SealDead();
    }

    /// <summary>Gives up all segments that are written to.</summary>
    public void Seal()
    {
        foreach (SegmentWriter? writer in _writers) writer?.Seal();
    }
}
