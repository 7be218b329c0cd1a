namespace Kv.Tests.Models;

/// <summary>What a thread of the model calls.</summary>
internal enum Op : byte
{
    /// <summary>Reads a key.</summary>
    Get,

    /// <summary>Inserts, or replaces by a copy.</summary>
    Set,

    /// <summary>Inserts, or writes in place.</summary>
    SetInPlace,
    Delete,

    /// <summary>Get and Set with what the thread's look-ahead found before its first call.</summary>
    HintedGet,
    HintedSet,

    /// <summary>Splits the bucket, as the sweep of a doubling does.</summary>
    Sweep,

    /// <summary>Merges the far bucket into the near one, as a halving does.</summary>
    Merge,

    /// <summary>Moves the record that a key had at first, as reclaim does.</summary>
    Move,

    /// <summary>Holds two keys and sets both.</summary>
    HoldSet,

    /// <summary>Holds two keys, moves the value of the first to the second, deletes the first.</summary>
    HoldRename,

    /// <summary>Reads two keys as of one instant.</summary>
    GetMany,
}

/// <summary>One call: A and a stay in the near half when the bucket splits, B and b go to the far one.</summary>
internal readonly record struct Call(Op Op, char Key, char Other = '\0')
{
    public override string ToString() => Other == '\0' ? $"{Op}({Key})" : $"{Op}({Key},{Other})";
}

/// <summary>What runs at the same time, from which state.</summary>
/// <param name="Threads">The calls of each thread, in order.</param>
/// <param name="Keys">Keys that are there at first.</param>
/// <param name="Entries">Entries of a bucket: few, so that chains are short and still met.</param>
/// <param name="Growing">Whether a doubling has begun.</param>
/// <param name="Halving">Whether a halving has begun: the bucket is split at first, and is not split again.</param>
internal sealed record ModelProgram(Call[][] Threads, string Keys, int Entries = 2, bool Growing = true,
    bool Halving = false)
{
    public override string ToString() =>
        $"[{string.Join(" | ", Threads.Select(calls => string.Join(" ", calls)))}] from '{Keys}', {Entries} entries"
        + (Halving ? ", halving" : Growing ? ", growing" : "");

    /// <summary>Reads "Set B; Get B | Sweep": threads by bars, calls by semicolons.</summary>
    public static ModelProgram Parse(string text, string keys, int entries = 2, bool growing = true) =>
        new([.. text.Split('|').Select(thread => thread.Split(';', StringSplitOptions.TrimEntries).Select(ParseCall)
            .ToArray())],
            keys, entries, growing);

    /// <summary>Reads a program that runs while an index is halved.</summary>
    public static ModelProgram ParseHalving(string text, string keys, int entries = 2) =>
        Parse(text, keys, entries, growing: false) with { Halving = true };

    private static Call ParseCall(string text)
    {
        string[] words = text.Split(' ');
        return new Call(Enum.Parse<Op>(words[0]), words.Length > 1 ? words[1][0] : 'A',
            words.Length > 2 ? words[2][0] : '\0');
    }
}

/// <summary>What is left out or done in another order, to see that the model notices.</summary>
internal enum Flaw
{
    None,
    MissNotValidated,
    MissValidatedUnderLatch,
    InsertWithoutLatch,
    ReplaceWithoutLatch,
    UnlockedBeforeDead,
    ValueNotChecked,
    MovedWithoutLock,
    HintNotChecked,
    HeldOneByOne,
    ManyNotChecked,
    InsertKeepsSequence,
    SplitKeepsControl,
    MergeWithoutFarLatch,
    MergeKeepsFar,
    RemoveKeepsSequence,

    // Looked wrong, and are not: the model holds. Why is in docs/concurrency.md.
    NearClearedFirst,
    DeadBeforeRemoved,
    MovedUpNotKept,
}
