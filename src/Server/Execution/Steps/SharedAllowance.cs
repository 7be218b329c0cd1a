using System.Diagnostics;

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
        Debug.Assert(bytes > 0 && most >= 0, "something is asked for");
        // Added first and given back when it was too much: of two that ask at once both may be refused, but never too
        // much is taken.
        if (Interlocked.Add(ref _taken, bytes) <= most) return true;
        Interlocked.Add(ref _taken, -bytes);
        return false;
    }

    public void Give(long bytes)
    {
        long left = Interlocked.Add(ref _taken, -bytes);
        Debug.Assert(bytes >= 0 && left >= 0, "what is given back was taken");
    }
}
