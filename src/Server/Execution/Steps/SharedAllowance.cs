namespace Kv.Server.Execution;

/// <summary>Memory that commands of one kind may hold together while they run.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class SharedAllowance
{
    private long _taken;

    /// <summary>Bytes held now.</summary>
    public long Taken => Volatile.Read(ref _taken);

    /// <summary>Takes bytes, unless all together would then hold more than the most.</summary>
    public bool TryTake(long bytes, long most)
    {
        // Added first and given back when it was too much: of two that ask at once both may be refused, but never too
        // much is taken.
        if (Interlocked.Add(ref _taken, bytes) <= most) return true;
        Interlocked.Add(ref _taken, -bytes);
        return false;
    }

    public void Give(long bytes) => Interlocked.Add(ref _taken, -bytes);
}
