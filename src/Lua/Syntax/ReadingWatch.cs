namespace Kv.Lua.Syntax;

/// <summary>Ends the reading of a text that nobody wants any more, or that takes too much memory; and keeps the
/// collector's pauses short meanwhile.</summary>
/// <remarks>
/// Nearly all that is made while a text is read stays until the text is compiled. A collector that expects most of it
/// to go moves it when there are some 20 MB of it, and stops all threads for 60 ms. Asked early, and not to move it,
/// it stops them for some ms. Threads: the one that reads.
/// </remarks>
/// <param name="treeBytesMax">That reading it may take.</param>
/// <param name="cancel">Whether it is still wanted.</param>
internal struct ReadingWatch(long treeBytesMax, CancellationToken cancel)
{
    private const int WordsPerLook = 256, BytesPerCollection = 2 << 20;

    private readonly long _beginBytes = GC.GetAllocatedBytesForCurrentThread();
    private long _collectAtBytes = BytesPerCollection;
    private int _words;

    /// <summary>Counts a word.</summary>
    public void Pass()
    {
        if (++_words >= WordsPerLook) Look();
    }

    private void Look()
    {
        _words = 0;
        cancel.ThrowIfCancellationRequested();
        long bytes = GC.GetAllocatedBytesForCurrentThread() - _beginBytes;
        if (bytes > treeBytesMax) throw new LuaException("not enough memory");
        if (bytes < _collectAtBytes) return;
        _collectAtBytes = bytes + BytesPerCollection;
        GC.Collect(1, GCCollectionMode.Forced, blocking: true, compacting: false);
    }
}
