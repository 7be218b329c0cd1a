using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command about many elements of large collections: it answers them, takes them out, or combines them, at
/// one instant but in steps.</summary>
/// <remarks>
/// The keys are held from the handler's turn to the last step, so whatever the handler has found in them stays right.
/// The reply is collected, and passed on when the keys are free again: a client that reads slowly holds up nobody.
/// Threads: the session's; where another one needs the key, it does the rest (<see cref="HeldUse"/>).
/// </remarks>
internal abstract class HeldSteps : ICommandSteps, IHeldUse, IDisposable
{
    /// <summary>Of what cannot end where a <see cref="StepBudget"/> does.</summary>
    protected const int ElementsPerStep = StepBudget.ElementsMax, BytesPerStep = StepBudget.BytesMax;

    private CollectedReply? _reply;
    private IHeldSteps? _work;
    private ReplyHead _head;
    private StepsOwner _owner;
    private CommandEvents? _events;

    /// <inheritdoc/>
    public virtual bool HasChanged => false;

    /// <inheritdoc/>
    public bool Holds => _work is { IsDone: false };

    /// <inheritdoc/>
    public string WorkName => _owner.Text;

    /// <inheritdoc/>
    public IKeyListener? ListenOn(StoreSession session) => _events?.On(session);

    /// <summary>Elements of the reply, or its number; right when the work is done.</summary>
    protected long Count { get; set; }

    /// <summary>The name of the key, where it is in front of the array of the elements, in one of both.</summary>
    protected byte[]? Key { get; init; }

    /// <summary>Where in the output is what has been written in the handler's turn; null: nothing was.</summary>
    protected ReplyMark? Written { get; init; }

    /// <summary>Why nothing came of it.</summary>
    protected StoreStatus Status { get; set; }

    /// <summary>What the work threw, whoever ran it.</summary>
    protected Exception? Failure => _work?.Failure;

    /// <summary>What is collected, once it has begun.</summary>
    protected CollectedReply Reply => _reply!;

    /// <summary>Leaves a command to later turns, if it is about many elements.</summary>
    /// <param name="count">So many.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool IsWanted(ref CommandContext context, long count) =>
        count > StepBudget.OneTurnMax && context.MayStep;

    /// <summary>Begins; the keys are the work's.</summary>
    /// <param name="count">Elements of the reply, or its number.</param>
    /// <returns>False: do it all in this turn.</returns>
    protected bool TryBegin<THeld>(ref CommandContext context, scoped THeld held, ReplyHead head, long count = 0)
        where THeld : IHeldKeys, allows ref struct
    {
        if (Postpone(ref context)) return true;
        AwaitPlace(ref context);
        Prepare(ref context, head, count);
        return HasBegun(ref context, held.TryBeginUse(this));
    }

    private bool Postpone(ref CommandContext context)
    {
        if (!context.TryPostpone()) return false;
        Dispose();
        return true;
    }

    private void AwaitPlace(ref CommandContext context)
    {
        bool begins = false;
        try
        {
            context.Server.Store.SteppedHolds.AwaitPlace(context.Store);
            begins = true;
        }
        finally
        {
            if (!begins) Dispose();     // not caught: to throw it once more would cost as much again
        }
    }

    private void Prepare(ref CommandContext context, ReplyHead head, long count)
    {
        _head = head;
        _owner = new StepsOwner(context);
        _events = context.Events.ForSteps(context.Sent);
        Count = count;
        _reply = new CollectedReply(context.Server.Store,
            context.Server.Options.MaxReplyBytes) { Version = context.Reply.Version };
        // Before others can go on with it.
        if (Written is { } begin) _reply.TakeFirst(context.Output, begin.Length);
    }

    private bool HasBegun(ref CommandContext context, IHeldSteps? work)
    {
        Debug.Assert(_work == null, "it begins once");
        _work = work;
        if (work == null)
        {
            _reply!.Dispose();
            if (_events != null) context.Events.Effects.TakeBack(_events.Effects);
            GiveUp();
            return false;
        }

        if (Written is { } begin) context.Reply.Rewind(begin);
        context.Continue(this);
        return true;
    }

    /// <summary>It cannot begin: lets go of what it has kept for later turns.</summary>
    protected virtual void GiveUp()
    {
    }

    /// <inheritdoc/>
    public bool Use(in HeldKeys held)
    {
        Debug.Assert(_reply is { IsBegun: false }, "what works has not answered yet");
        bool done = Work(held, Reply);
        Reply.CheckSize();
        return done;
    }

    /// <inheritdoc/>
    public virtual bool Step(ref CommandContext context)
    {
        bool done = Reply.IsBegun ? Reply.PassOn(context.Output) : _work!.Step(context.Store) && Finish(ref context);
        if (done) Dispose();
        return done;
    }

    /// <inheritdoc/>
    public virtual void Dispose()
    {
        _work?.Dispose();
        _work = null;
        _reply?.Dispose();
    }

    /// <summary>Does a piece.</summary>
    /// <returns>True when everything is done.</returns>
    protected abstract bool Work(in HeldKeys held, CollectedReply reply);

    /// <summary>What follows when the keys are free again: the answer.</summary>
    /// <returns>True when nothing is left to do.</returns>
    protected virtual bool Finish(ref CommandContext context) => Answer(ref context);

    /// <summary>Answers, when everything is done.</summary>
    /// <returns>True when nothing is left to pass on.</returns>
    protected bool Answer(ref CommandContext context)
    {
        Debug.Assert(_work is not { IsDone: false }, "who answers has let go of the keys");
        Debug.Assert(context.Reply.Owed > 0, "a reply is still owed");
        if (_work?.Failure is { } failure) throw failure;
        if (Status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(Status));
            return true;
        }

        if (_head == ReplyHead.None) return Reply.Begin(context.Output);
        if (Key != null)
        {
            context.Reply.WriteArray(2);
            context.Reply.WriteBulk(Key);
        }

        _head.Write(context.Reply, Count);
        return context.Reply.Owed == 0 || Reply.Begin(context.Output);
    }
}
