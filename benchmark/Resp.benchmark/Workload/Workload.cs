namespace RespBenchmark.Workload;

/// <summary>What a cell sends: its kinds of commands, and a source of them for each loop. Immutable, shared by all
/// loops.</summary>
internal abstract class Workload
{
    /// <summary>Kinds by number, at most 256.</summary>
    public abstract IReadOnlyList<CommandKind> Kinds { get; }

    /// <summary>Whether chunks carry key numbers.</summary>
    public virtual bool TracksKeys => false;

    /// <summary>The number of commands after which the stream of all sessions together ends (a load); null: it never
    /// does. Which session sends how many of them is the sources' business: each session goes on until its source
    /// renders nothing, and the engine counts no budget of its own.</summary>
    public virtual long? Commands => null;

    /// <summary>Lua scripts that the server must know before the first command: SCRIPT LOAD of each.</summary>
    public virtual IReadOnlyList<string> Scripts => [];

    /// <summary>A source of its own for one of <paramref name="loops"/> loops; equal seeds, equal requests.</summary>
    public abstract RequestSource Open(int loop, int loops, int sessions, ulong seed);

    /// <summary>Compares a reply's body with what the key must hold; only called where
    /// <see cref="TracksKeys"/>.</summary>
    public virtual bool Verify(int kind, long key, ReadOnlySpan<byte> body) => true;
}
