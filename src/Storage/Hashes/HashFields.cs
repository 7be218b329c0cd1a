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
        where TSink : IPairSink where TBudget : struct, IStepBudget
    {
        var walk = hash.GetWalk(_place);
        bool isPacked = hash.IsPacked, isDone = false;
        long written = 0;
        while (isPacked || budget.TryTake())
        {
            isDone = !walk.Next(out var field, out var value);
            if (isDone) break;
            sink.Write(field, value);
            written++;
        }

        Written += written;
        _place = walk.Place;
        return isDone;
    }
}
