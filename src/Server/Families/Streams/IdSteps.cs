using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Very many ids of entries of a stream, for XDEL, XACK and XCLAIM. All of them are looked at before anything
/// is done: one that is none is an error.</summary>
/// <remarks>The arguments are copied. What is answered, also an error, is collected.</remarks>
internal abstract unsafe class IdSteps : HeldSteps
{
    private const int ReadsPerStep = 8192;

    private readonly HeldCommand _command;
    private readonly int _first;
    private int _at, _end;

    /// <param name="first">The first of the ids.</param>
    protected IdSteps(ref CommandContext context, int first)
    {
        _command = context.Args.Keep(context.Server.Store);
        _first = _at = first;
    }

    /// <inheritdoc/>
    public sealed override bool HasChanged => _end != 0;

    /// <summary>Whether there are so many arguments.</summary>
    protected static bool AreMany(ref CommandContext context) => IsWanted(ref context, context.Args.Count);

    /// <summary>Begins.</summary>
    /// <returns>False: do it all in this turn.</returns>
    protected bool TryBegin(ref CommandContext context, scoped HeldKey held)
    {
        if (TryBegin(ref context, held, ReplyHead.None, count: 0)) return true;
        Dispose();
        return false;
    }

    public override void Dispose()
    {
        base.Dispose();
        _command.Dispose();
    }

    protected sealed override bool Work(in HeldKeys held, CollectedReply reply)
    {
        HeldValue value = held.Value(0);
        if (_end == 0)
        {
            if (!TryFindEnd(out int end)) return false;
            var arguments = new CommandArguments(_command.Items, _command.Count, store: null!, keyIndex: 0, hash: 0,
                hint: 0, blocks: null);
            if (!TryBegin(value, ref arguments, end - _first, reply)) return true;
            _end = end;
            _at = _first;
        }

        for (var budget = new StepBudget(reply); _at < _end; _at++)
        {
            if (!budget.TryTake()) return false;
            StreamIdText.TryParse(_command.Items[_at].Span, 0, out StreamId id);
            if (!Do(value, id, reply)) break;
        }

        End(reply);
        return true;
    }

    /// <summary>Looks how far the ids go.</summary>
    private bool TryFindEnd(out int end)
    {
        for (int left = ReadsPerStep;
            _at < _command.Count && StreamIdText.TryParse(_command.Items[_at].Span, 0, out _); _at++)
        {
            end = 0;
            if (left-- == 0) return false;
        }

        end = _at;
        return true;
    }

    /// <summary>Begins, when the ids have been looked at.</summary>
    /// <param name="arguments">Positioned behind the command's name.</param>
    /// <param name="ids">How many there are; behind them there may be other arguments.</param>
    /// <returns>False: nothing is to be done with them, and that is answered.</returns>
    protected abstract bool TryBegin(HeldValue value, ref CommandArguments arguments, int ids, CollectedReply reply);

    /// <summary>Does what there is to do with one.</summary>
    /// <returns>False: that was the last.</returns>
    protected abstract bool Do(HeldValue value, StreamId id, CollectedReply reply);

    /// <summary>Answers.</summary>
    protected abstract void End(CollectedReply reply);
}
