using Kv.Server.Sessions;

namespace Kv.Server.Execution;

/// <summary>A command that does one small thing after another, each by itself, and holds nothing in between; for
/// <see cref="PieceSteps{TWork}"/>.</summary>
internal interface IPieceWork
{
    /// <summary>Whether the pieces read arguments: then those are kept, should they be many.</summary>
    static abstract bool ReadsArguments { get; }

    /// <summary>Does the next thing; arguments are read where the piece before ended.</summary>
    /// <returns>False when nothing was left.</returns>
    bool Next(ref CommandContext context);

    /// <summary>After the last one.</summary>
    void End(ref CommandContext context);
}

/// <summary>Does the pieces of a command in its own turn where they are few, and leaves the rest to later turns where
/// they are many.</summary>
/// <remarks>Others have turns in between: what they do comes between two pieces. Threads: the session's.</remarks>
internal sealed unsafe class PieceSteps<TWork> : ICommandSteps, IDisposable where TWork : struct, IPieceWork
{
    private readonly HeldCommand? _command;
    private TWork _work;
    private int _position;

    private PieceSteps(ref CommandContext context, in TWork work)
    {
        _work = work;
        _position = context.Args.Position;
        if (TWork.ReadsArguments) _command = context.Args.Keep(context.Server.Store);
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <summary>Does it, or as much as a turn has room for.</summary>
    public static void Run(ref CommandContext context, TWork work)
    {
        if (!Do(ref context, ref work)) context.Continue(new PieceSteps<TWork>(ref context, work));
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (_command != null)
        {
            context.Args.Begin(_command.Items, _command.Count, keyIndex: 0, hash: 0, hint: 0, context.Session.Blocks);
            context.Args.Skip(_position - context.Args.Position);
        }

        bool isDone = Do(ref context, ref _work);
        _position = context.Args.Position;
        if (isDone) Dispose();
        return isDone;
    }

    public void Dispose() => _command?.Dispose();

    private static bool Do(ref CommandContext context, ref TWork work)
    {
        bool isWhole = context.InTransaction;
        var budget = new StepBudget(context.Reply.Output);
        // Ends: with the budget, or with the pieces.
        while (isWhole || budget.TryTake())
        {
            if (work.Next(ref context)) continue;
            work.End(ref context);
            return true;
        }

        return false;
    }
}
