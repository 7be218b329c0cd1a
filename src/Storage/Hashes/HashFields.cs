using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>All fields of a hash that have not expired, with their values.</summary>
internal struct HashFields
{
    private MemberPlace _place;

    /// <summary>How many have been written.</summary>
    public long Written { get; private set; }

    /// <summary>Writes some; of a small hash all.</summary>
    /// <returns>True when all have been written.</returns>
    public bool Run<TSink, TBudget>(in HashView hash, TSink sink, ref TBudget budget)
        where TSink : IPairSink where TBudget : struct, IStepBudget =>
        hash.IsPacked ? RunPacked(hash, sink) : RunLarge(hash, sink, ref budget);

    // Both are compiled by themselves: inlined into what calls them, they leave the compiler no budget to inline what
    // they call for each field, and take a third longer.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool RunPacked<TSink>(in HashView hash, TSink sink) where TSink : IPairSink
    {
        var walk = hash.GetWalk();
        long written = 0;
        for (; walk.Next(out var field, out var value); written++) sink.Write(field, value);
        Written += written;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private unsafe bool RunLarge<TSink, TBudget>(in HashView hash, TSink sink, ref TBudget budget)
        where TSink : IPairSink where TBudget : struct, IStepBudget
    {
        var walk = hash.Fields.GetWalk(_place);
        bool isDone = false;
        long written = 0;
        while (budget.TryTake())
        {
            isDone = !walk.Next(out byte* item);
            if (isDone) break;
            long expiryMs = HashItem.Read(MemberItem.PayloadOf(item), out var value);
            if (hash.IsPast(expiryMs)) continue;
            sink.Write(MemberItem.MemberOf(item), value);
            written++;
        }

        Written += written;
        _place = walk.Place;
        return isDone;
    }
}
