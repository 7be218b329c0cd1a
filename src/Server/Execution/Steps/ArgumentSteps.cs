using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command with very many arguments about one collection: what it is to add, to take out, or to look
/// for.</summary>
/// <remarks>The arguments are copied, those in blocks stay in the session's.</remarks>
internal unsafe class ArgumentSteps<TUse> : HeldSteps where TUse : struct, IArgumentUse
{
    private readonly HeldCommand _command;
    private TUse _use;
    private int _at;

    /// <param name="first">The first argument of these.</param>
    protected ArgumentSteps(ref CommandContext context, int first, in TUse use)
    {
        _command = context.Args.Keep(context.Server.Store);
        _at = first;
        _use = use;
    }

    /// <inheritdoc/>
    public override bool HasChanged => TUse.Changes;

    /// <summary>What is done with each, in place.</summary>
    protected ref TUse Each => ref _use;

    protected HeldCommand Command => _command;

    /// <summary>Begins, if there are very many; what can fail has been done by the handler.</summary>
    /// <param name="first">The first of them.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, int first, in TUse use = default)
    {
        if (!IsWanted(ref context, context.Args.Count)) return false;
        var work = new ArgumentSteps<TUse>(ref context, first, use);
        if (work.TryBegin(ref context, held, use.Head, count: 0)) return true;
        work.Dispose();
        return false;
    }

    public override void Dispose()
    {
        base.Dispose();
        _command.Dispose();
    }

    protected sealed override bool Work(in HeldKeys held, CollectedReply reply) => Work(held.Value(0), reply);

    /// <inheritdoc cref="Work(in HeldKeys, CollectedReply)"/>
    protected bool Work(HeldValue value, CollectedReply reply)
    {
        long count = Count;
        for (var budget = new StepBudget(reply); _at < _command.Count && Status == StoreStatus.Ok && budget.TryTake();
            _at += TUse.Stride)
            Status = _use.Use(value, new ReadOnlySpan<Argument>(_command.Items + _at, TUse.Stride), reply, ref count);
        Count = count;
        if (Status != StoreStatus.Ok) return true;
        if (_at < _command.Count) return false;
        if (TUse.Changes) _use.Settle(value);
        return true;
    }

    /// <summary>Does all of it in this turn, where it could not begin.</summary>
    /// <returns>True when nothing is left to pass on.</returns>
    protected bool WorkAtOnce(ref CommandContext context, HeldValue value)
    {
        // Ends: each round gets on.
        while (!Work(value, Reply))
        {
        }

        return Answer(ref context);
    }
}
