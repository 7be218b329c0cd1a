using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Work on a value in steps.</summary>
internal sealed class ValueSteps<TWork> : HeldSteps where TWork : struct, IOpenWork
{
    private readonly int _index;
    private TWork _work;

    private ValueSteps(in TWork work, int index = 0)
    {
        _work = work;
        _work.Keep();
        _index = index;
    }

    /// <inheritdoc/>
    public override bool HasChanged => TWork.Changes;

    /// <summary>Begins; the key is the work's.</summary>
    /// <returns>False when that cannot be just now: nothing was done.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, in TWork work) =>
        new ValueSteps<TWork>(work).TryBegin(ref context, held, work.Head, count: 0);

    /// <summary>The same with work that has begun.</summary>
    /// <param name="begin">Where in the client's output is what it has written.</param>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, in TWork work, ReplyMark begin) =>
        new ValueSteps<TWork>(work) { Written = begin }.TryBegin(ref context, held, work.Head, count: 0);

    /// <summary>The same with the key's name in the reply.</summary>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, ReadOnlySpan<byte> key, in TWork work) =>
        new ValueSteps<TWork>(work) { Key = key.ToArray() }.TryBegin(ref context, held, work.Head, count: 0);

    /// <summary>The same with one of several keys.</summary>
    public static bool TryBegin(ref CommandContext context, in HeldKeys held, int index, ReadOnlySpan<byte> key,
        in TWork work) =>
        new ValueSteps<TWork>(work, index) { Key = key.ToArray() }.TryBegin(ref context, held, work.Head);

    public override void Dispose()
    {
        base.Dispose();
        if (TWork.Owns) _work.Dispose();
    }

    protected override void GiveUp()
    {
        if (TWork.Owns) _work.Dispose();
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        var budget = new StepBudget(reply);
        bool isDone = _work.Run(held.Value(_index), new CollectedTarget(reply), ref budget);
        Count = _work.Count;
        Status = HeldWork.StatusOf(_work);
        return isDone;
    }
}

/// <summary>Work on several keys in steps.</summary>
internal sealed class KeysSteps<TWork> : HeldSteps where TWork : struct, IKeysWork
{
    private TWork _work;

    private KeysSteps(in TWork work)
    {
        _work = work;
        _work.Keep();
    }

    /// <inheritdoc/>
    public override bool HasChanged => TWork.Changes;

    /// <summary>Begins; keys and work are its own.</summary>
    /// <returns>False when that cannot be just now: nothing was done, and the work is the caller's.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKeys held, in TWork work) =>
        new KeysSteps<TWork>(work).TryBegin(ref context, held, work.Head);

    public override void Dispose()
    {
        base.Dispose();
        _work.Dispose();
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        var budget = new StepBudget(reply);
        bool isDone = _work.Run(held, new CollectedTarget(reply), ref budget);
        Count = _work.Count;
        Status = HeldWork.StatusOf(_work);
        return isDone;
    }
}
