using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command that adds very much to one collection. All of it is read first, in steps without the key; what
/// that sums up to is reserved before the first change.</summary>
internal sealed unsafe class AdditionSteps<TAdd> : ArgumentSteps<TAdd> where TAdd : struct, IArgumentAddition
{
    private int _read;
    private bool _isRead;

    private AdditionSteps(ref CommandContext context, int first, in TAdd use)
        : base(ref context, first, use)
    {
        _read = first;
    }

    /// <summary>Begins, if there are very many.</summary>
    /// <param name="first">The first of them; a whole number of those that belong together.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, int first, in TAdd use = default)
    {
        if (!IsWanted(ref context, context.Args.Count) || context.Args.Failed) return false;
        context.Continue(new AdditionSteps<TAdd>(ref context, first, use));
        return true;
    }

    /// <inheritdoc/>
    public override bool Step(ref CommandContext context)
    {
        if (_isRead) return base.Step(ref context);
        context.Args.Begin(Command.Items, Command.Count, keyIndex: 0, hash: 0, hint: 0, context.Session.Blocks);
        var key = context.Args.NextKey();
        context.Args.Skip(_read - context.Args.Position);
        int end = Math.Min(Command.Count, _read + (ElementsPerStep * TAdd.Stride));
        // Ends: each round reads some, or nothing more.
        while (context.Args.Position < end && !context.Args.Failed) Each.Read(ref context.Args);
        _read = context.Args.Position;
        if (!context.Args.Failed && _read < Command.Count) return false;
        _isRead = true;
        if (context.Args.Finish(context.Reply) && !Begin(ref context, key)) return false;
        Dispose();
        return true;
    }

    /// <summary>Begins to add.</summary>
    /// <returns>True when the command is done.</returns>
    private bool Begin(ref CommandContext context, in Key key)
    {
        using var held = context.Store.Hold(key, TAdd.Type, Each.ExpectedBytes(context.Server.Options.PackedLimits));
        if (held.Status == StoreStatus.Ok)
            return !TryBegin(ref context, held, Each.Head, count: 0) && WorkAtOnce(ref context, held.Value);
        if (held.Status == StoreStatus.NotFound) context.Reply.WriteInteger(0);
        else context.Fail(Errors.For(held.Status));
        return true;
    }
}
