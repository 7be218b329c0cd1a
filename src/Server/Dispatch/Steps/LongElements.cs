using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>A command about many elements of one large collection: it answers them, or takes them out, at one instant but in steps.</summary>
/// <remarks>
/// The key is held from the handler's turn to the last step, so whatever the handler has found in it stays right. The reply is
/// collected, and passed on when the key is free again: a client that reads slowly holds up nobody.
/// Threads: the session's; where another one needs the key, it does the rest (<see cref="LongUse"/>).
/// </remarks>
internal abstract class LongElements : ICommandSteps, ILongUse, IDisposable
{
    /// <summary>A command about more is done in steps.</summary>
    public const int ElementsMax = 4096;

    /// <summary>So many in one step: some 100 us where they are in no cache.</summary>
    protected const int ElementsPerStep = 1024;

    private LongReply _reply = null!;
    private LongUse? _work;
    private ReplyHead _head;
    /// <summary>What is in front of the elements.</summary>
    protected enum ReplyHead : byte
    {
        Array,
        Set,
        Map,

        /// <summary>There are none: the reply is the number.</summary>
        Number,
    }

    /// <summary>Elements of the reply, or its number; the work may find that it is another.</summary>
    protected int Count { get; set; }

    /// <inheritdoc/>
    public virtual bool HasChanged => false;

    /// <summary>Leaves a command to later turns, if it is about many elements.</summary>
    /// <param name="count">So many.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool IsWanted(ref CommandContext context, long count) => count > ElementsMax && !context.InTransaction;

    /// <summary>Begins; the key is the work's.</summary>
    /// <param name="count">Elements of the reply, or its number.</param>
    /// <returns>False: do it all in this turn.</returns>
    protected bool TryBegin(ref CommandContext context, in HeldKey held, ReplyHead head, long count)
    {
        _head = head;
        Count = (int)count;
        _reply = new LongReply(context.Server.Store, context.Server.Options.MaxReplyBytes) { Version = context.Reply.Version };
        _work = held.TryBeginUse(this);
        if (_work != null) context.Continue(this);
        return _work != null;
    }

    /// <inheritdoc/>
    public bool Use(HeldValue value)
    {
        bool done = Work(value, _reply);
        _reply.CheckSize();
        return done;
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        bool done = _reply.IsBegun ? _reply.PassOn(context.Output) : _work!.Step() && Answer(ref context);
        if (done) Dispose();
        return done;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _work?.Dispose();
        _work = null;
        _reply.Dispose();
    }

    /// <summary>Does a piece.</summary>
    /// <returns>True when everything is done.</returns>
    protected abstract bool Work(HeldValue value, LongReply reply);

    private bool Answer(ref CommandContext context)
    {
        if (_work!.Failure is { } failure) throw failure;
        switch (_head)
        {
            case ReplyHead.Set: context.Reply.WriteSet(Count); break;
            case ReplyHead.Map: context.Reply.WriteMap(Count); break;
            case ReplyHead.Array: context.Reply.WriteArray(Count); break;
            default:
                context.Reply.WriteInteger(Count);
                return true;
        }

        return Count == 0 || _reply.Begin(context.Output);
    }
}
