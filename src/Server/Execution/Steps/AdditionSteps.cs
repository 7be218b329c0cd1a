using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command that adds very much to one collection. All of it is read first, in steps without the key; what
/// that sums up to is reserved before the first change.</summary>
/// <remarks>The arguments are copied, those in blocks stay in the session's.</remarks>
internal sealed unsafe class AdditionSteps<TAdd> : HeldSteps where TAdd : struct, IArgumentAddition
{
    private readonly HeldCommand _command;
    private TAdd _add;
    private int _read, _at;
    private bool _isRead;

    private AdditionSteps(ref CommandContext context, int first, in TAdd add)
    {
        _command = context.Args.Keep(context.Server.Store);
        Debug.Assert(first > 0 && (_command.Count - first) % TAdd.Stride == 0,
            "a whole number of those that belong together");
        _add = add;
        _read = _at = first;
    }

    /// <inheritdoc/>
    public override bool HasChanged => true;

    /// <summary>Begins, if there are very many.</summary>
    /// <param name="first">The first of them; a whole number of those that belong together.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, int first, in TAdd add = default)
    {
        if (!IsWanted(ref context, context.Args.Count) || context.Args.Failed) return false;
        context.Continue(new AdditionSteps<TAdd>(ref context, first, add));
        return true;
    }

    /// <inheritdoc/>
    public override bool Step(ref CommandContext context)
    {
        if (_isRead) return base.Step(ref context);
        context.Args.Begin(_command.Items, _command.Count, keyIndex: 0, hash: 0, hint: 0, context.Session.Blocks);
        var key = context.Args.NextKey();
        context.Args.Skip(_read - context.Args.Position);
        int end = Math.Min(_command.Count, _read + (ElementsPerStep * TAdd.Stride));
        // Ends: each round reads some, or nothing more.
        while (context.Args.Position < end && !context.Args.Failed) _add.Read(ref context.Args);
        _read = context.Args.Position;
        if (!context.Args.Failed && _read < _command.Count) return false;
        if (!context.Args.Failed && context.Store.SnapshotWait.TryAwait(key))
        {
            context.AwaitSnapshot();
            return false;
        }

        _isRead = true;
        if (context.Args.Finish(context.Reply) && !Begin(ref context, key)) return false;
        Dispose();
        return true;
    }

    public override void Dispose()
    {
        base.Dispose();
        _command.Dispose();
    }

    /// <summary>Begins to add.</summary>
    /// <returns>True when the command is done.</returns>
    private bool Begin(ref CommandContext context, in Key key)
    {
        Debug.Assert(_isRead && _at < _command.Count, "all are read before the first is added");
        using var held = context.Store.Hold(key, TAdd.Type, _add.ExpectedBytes(context.Server.Options.PackedLimits));
        if (held.Status == StoreStatus.Ok)
            return !TryBegin(ref context, held, _add.Head, count: 0) && WorkAtOnce(ref context, held.Value);
        if (held.Status == StoreStatus.NotFound) context.Reply.WriteInteger(0);
        else context.Fail(Errors.For(held.Status));
        return true;
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply) => Work(held.Value(0), reply);

    /// <inheritdoc cref="Work(in HeldKeys, CollectedReply)"/>
    private bool Work(HeldValue value, CollectedReply reply)
    {
        Debug.Assert((_command.Count - _at) % TAdd.Stride == 0, "those that belong together are added together");
        long count = Count;
        for (var budget = new StepBudget(reply); _at < _command.Count && Status == StoreStatus.Ok && budget.TryTake();
            _at += TAdd.Stride)
            Status = _add.Use(value, new ReadOnlySpan<Argument>(_command.Items + _at, TAdd.Stride), reply, ref count);
        Count = count;
        if (Status != StoreStatus.Ok) return true;
        if (_at < _command.Count) return false;
        _add.Settle(value);
        return true;
    }

    /// <summary>Does all of it in this turn, where it could not begin.</summary>
    /// <returns>True when nothing is left to pass on.</returns>
    private bool WorkAtOnce(ref CommandContext context, HeldValue value)
    {
        // Ends: each round gets on.
        while (!Work(value, Reply))
        {
        }

        return Answer(ref context);
    }
}
