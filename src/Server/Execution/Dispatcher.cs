using System.Diagnostics;
using System.Text;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Execution;

/// <summary>What happens around a handler when it is not simply called: checks, waiting, and one reply whatever goes
/// wrong.</summary>
/// <remarks>Threads: one worker or lease. The common case does not come here: <see cref="CommandWindow"/> calls the
/// handler itself.</remarks>
internal sealed unsafe class Dispatcher(KvServer server, StoreSession store, WorkerCounters counters,
    SessionOutput output) : IDisposable
{
    /// <summary>What a TLS client says first.</summary>
    public const byte TlsHandshake = 0x16;

    /// <summary>Bytes of an unknown command, and of its arguments, that the error repeats.</summary>
    private const int EchoBytes = 128;

    private readonly ReplyWriter _reply = output.Reply;
    private readonly KeyServer _waits = new(server, store);
    private TransactionRun? _transactions;

    /// <summary>When the last command or step began, if it was slow; else 0. Whoever looks sets it back.</summary>
    public long SlowSince { get; set; }

    /// <summary>Where the running command's reply begins.</summary>
    public int ReplyStart => _reply.ReplyStart;

    /// <summary>Whether some commands may have to be refused or to wait, by the state of the server. (Whether there is
    /// memory is asked before each command that may need some.)</summary>
    public bool IsGuarded =>
        server.Pause.IsActive || server.Options.NoPubSub || server.Options.NoObj || BoundsKeys;

    /// <summary>Whether a key may be too long: by default every argument that arrives is short enough.</summary>
    private bool BoundsKeys => server.Options.MaxKeyBytes < server.Options.ProtoMaxBulkLen;

    public CommandContext NewContext() =>
        new()
        {
            Server = server, Reply = _reply, Store = store, Counters = counters, Output = output, Waits = _waits,
            Transactions = _transactions ??= new TransactionRun(this, output, counters),
            Args = new CommandArguments(null, 0, store, 0, 0, 0, null),
        };

    /// <summary>Runs a command with every check.</summary>
    /// <param name="items">Its arguments, to be kept should it have to wait.</param>
    public void RunSlow(ref CommandContext context, Argument* items = null)
    {
        Begin(ref context);
        if (!TryRefuse(ref context) || !TryFindRoom(ref context, items)) return;
        if (MustWait(ref context, items)) return;

        var session = context.Session;
        var mode = session.ReplyMode;
        session.LastCommand = context.Command;
        if (session.InMulti && (context.Command.Flags & CommandFlags.NotQueued) == 0)
        {
            Queue(ref context, items);
        }
        else
        {
            Fault.Point("command.run");
            ref var counts = ref counters.ByCommand[context.Command.Id];
            long begin = counts.Begin();
            context.Command.Handler!(ref context);
            counts.Calls++;
            if (begin != 0 && counts.End(begin, 1, context.Command) != 0) SlowSince = begin;
            if (!_reply.IsDone) FinishSlow(ref context);
            if (store.HasArrivals) _waits.ServeArrivals();
        }

        if (mode == ReplyMode.On) return;
        if (session.Steps != null && !IsPushed(context.Command)) SilenceStep(session);
        else if (session.InMulti || !IsPushed(context.Command)) Silence(session, mode);
        // messages are not skipped, but it was their turn
        else if (mode == ReplyMode.Skip) session.ReplyMode = ReplyMode.On;
    }

    private void Queue(ref CommandContext context, Argument* items)
    {
        var transaction = context.Session.Transaction!;
        if (transaction.IsAborted || transaction.TryQueue(context.Command, items, context.Args.Count,
            context.Args.Large, server.Options.MultiQueueLimit))
        {
            _reply.WriteSimple("QUEUED"u8);
            return;
        }

        transaction.Abort();
        _reply.WriteError("ERR transaction queue is larger than multi-queue-limit"u8);
        counters.ByCommand[context.Command.Id].Rejected++;
        CountError();
    }

    /// <summary>Goes on with a session that waited: its held command, or the next step of a long one.</summary>
    /// <returns>False when it waits again, or is not done.</returns>
    public bool Resume(ref CommandContext context)
    {
        var session = context.Session;
        if (session.IsParked) return false;
        if (session.Held is { } held)
        {
            session.Held = null;
            held.EndCharge();
            try
            {
                ref readonly var entry = ref server.Commands.Find(held.Items->Pointer, held.Items->Length);
                context.Command = server.Commands.All[entry.Number];
                context.Args.Begin(held.Items, held.Count, 0, 0, 0, session.Blocks, held.Large);
                RunSlow(ref context, held.Items);
            }
            finally
            {
                held.Dispose();
            }

            return (session.Gate & SessionGate.Stopped) == 0;
        }

        var steps = session.Steps;
        if (steps == null) return true;
        context.Command = session.LastCommand!;
        context.Args.Begin(null, 0, 0, 0, 0, null);
        store.Select(session.Database);
        _reply.BeginReply();
        // what earlier steps have written is paid for
        _reply.Rewind(new ReplyMark(ReplyStart, session.OwedBySteps));
        long begin = Stopwatch.GetTimestamp();
        SlowSince = begin;
        bool isDone = steps.Step(ref context);
        counters.ByCommand[context.Command.Id].AddStep(begin);
        if (store.HasArrivals) _waits.ServeArrivals();
        if (!isDone)
        {
            session.OwedBySteps = _reply.Owed;
            session.IsInReply |= output.Buffer.Length > ReplyStart && !HasOwnReplies(context.Command);
            CheckHoldsNothing(session);
            if (session.ReplyMode != ReplyMode.On && !IsPushed(context.Command)) SilenceStep(session);
            return false;
        }

        if (session.Steps == steps) session.Steps = null;
        session.OwedBySteps = 1;
        bool wasInReply = session.IsInReply;
        session.IsInReply = false;
        if (!_reply.IsDone) FinishSlow(ref context);
        if (session.ReplyMode != ReplyMode.On && !IsPushed(context.Command)) Silence(session, session.ReplyMode);
        if (wasInReply) session.WriteMessages(_reply);      // those that could not be written in the middle of it
        return (session.Gate & SessionGate.Stopped) == 0;
    }

    /// <summary>Serves those who wait for what the last command has changed.</summary>
    public void ServeArrivals() => _waits.ServeArrivals();

    public void Dispose() => _waits.Dispose();

    /// <summary>After a handler whose reply is an error, or not there (yet), or one too many.</summary>
    public void FinishSlow(ref CommandContext context)
    {
        var session = context.Session;
        if (session.Steps != null && _reply.Owed != 0)
        {
            session.LastCommand = context.Command;
            session.OwedBySteps = _reply.Owed;
            session.IsInReply = output.Buffer.Length > ReplyStart && !HasOwnReplies(context.Command);
            CheckHoldsNothing(session);
            return;
        }

        if (_reply.Owed != 0 && !HasOwnReplies(context.Command))
        {
            int owed = _reply.Owed;
            output.Rewind(new ReplyMark(ReplyStart, 1));
            _reply.WriteError(Errors.Internal);
            server.Log.LogError("Command {Command} left {Owed} replies owed; its reply was replaced by an error",
                context.Command.FullName, owed);
            Debug.Fail($"{context.Command.FullName} did not write exactly one reply ({owed} owed)");
        }

        if (!_reply.LastWasError) return;
        counters.ByCommand[context.Command.Id].Failed++;
        if (!session.IsErrorCounted) CountError();
        session.IsErrorCounted = false;
    }

    /// <summary>What goes on though its client does not read must not write to it: there would be no end to what waits
    /// for that client.</summary>
    private static void CheckHoldsNothing(Session session)
    {
        if (!session.IsInReply || session.Steps is not { Holds: true }) return;
        // it is given up, with what it holds
        throw new InvalidOperationException("A long command answers while it holds keys or an epoch");
    }

    /// <summary>Whether what the command writes are messages of their own: others may come between them, and their
    /// number is not checked.</summary>
    private static bool HasOwnReplies(Command command) => (command.Flags & CommandFlags.OwnReplies) != 0;

    /// <summary>Answers the command that threw: one error, whatever it had written.</summary>
    public void FailCommand(Session session, Exception exception)
    {
        bool partlySent = session.IsInReply;
        session.IsInReply = false;
        FailPart(session, exception);
        if (partlySent) session.CloseAfterReply = true;     // half a reply has left: nothing sensible can follow
        if (session.ReplyMode != ReplyMode.On) Silence(session, session.ReplyMode);
    }

    /// <summary>The same for one of several commands that are answered together.</summary>
    public void FailPart(Session session, Exception exception)
    {
        session.EndSteps();
        output.Rewind(new ReplyMark(ReplyStart, 1));
        _reply.BeginPart();
        _reply.WriteError(exception switch
        {
            ReplyTooLargeException => Errors.ReplyTooLarge,
            OutOfMemoryException => Errors.OutOfMemory,
            _ => Errors.Internal,
        });
        CountError();
        if (exception is ReplyTooLargeException) return;
        server.Log.LogError(exception, "A command of client {Client} failed", session.Id);
    }

    /// <summary>Answers bytes that are no command; the connection ends.</summary>
    public void FailProtocol(ref CommandContext context, ParseStatus status, byte first)
    {
        context.Session.CloseAfterReply = true;
        if (first == TlsHandshake)
        {
            if (server.LogBrakes.Tls.TryTake(server.TickMs, out string others))
                server.Log.LogInformation("Client {Address} speaks TLS to a plain port; closed{More}",
                    context.Session.Address, others);
            return;
        }

        Begin(ref context);
        _reply.WriteError(ProtocolErrors.Text(status, context.Session.Partial.Got));
        CountError();
        if (server.Log.IsEnabled(LogLevel.Debug) && server.LogBrakes.Protocol.TryTake(server.TickMs, out string more))
            server.Log.LogDebug("Protocol error of client {Address}: {Status}; closed{More}", context.Session.Address,
                status, more);
    }

    /// <summary>Answers a command that does not exist.</summary>
    public void FailUnknown(ref CommandContext context)
    {
        Begin(ref context);
        var name = context.Args[0].Span;
        if (CommandName.Equal("POST"u8, name) || CommandName.Equal("HOST:"u8, name))
        {
            // Some browser was talked into this by a web page: nothing it says may have an effect.
            context.Session.CloseAfterReply = true;
            if (server.LogBrakes.Http.TryTake(server.TickMs, out string more))
                server.Log.LogWarning(
                    "Client {Address} speaks HTTP, possibly an attack by way of a browser; closed{More}",
                    context.Session.Address, more);
            return;
        }

        var text = new MemoryStream();
        text.Write("ERR unknown command '"u8);
        text.Write(Cut(name, EchoBytes));
        text.Write("', with args beginning with: "u8);
        long arguments = text.Length;
        for (int i = 1; i < context.Args.Count && text.Length - arguments < EchoBytes; i++)
        {
            text.Write("'"u8);
            text.Write(Cut(context.Args[i].Span, EchoBytes - (int)(text.Length - arguments) + 1));
            text.Write("' "u8);
        }

        var mode = context.Session.ReplyMode;
        if (context.Session.InMulti) context.Session.Transaction!.Abort();
        _reply.WriteError(text.ToArray());
        CountError();
        if (mode != ReplyMode.On) Silence(context.Session, mode);
    }

    private void Begin(ref CommandContext context)
    {
        _reply.BeginReply();
        store.Select(context.Session.Database);
    }

    /// <summary>The checks before a handler, in the order in which Redis makes them.</summary>
    /// <returns>False when the command has been answered with an error. The context then names the row that
    /// refused.</returns>
    private bool TryRefuse(ref CommandContext context)
    {
        var command = context.Command;
        int count = context.Args.Count;
        if (command.Subcommands.Length > 0 && (count > 1 || command.Handler == null))
        {
            if (count < 2)
                return Refuse(ref context, Text($"ERR wrong number of arguments for '{command.FullName}' command"));
            var found = command.FindSubcommand(context.Args[1].Span);
            if (found == null)
            {
                return Refuse(ref context, [.. "ERR unknown subcommand '"u8, .. Cut(context.Args[1].Span, EchoBytes),
                    .. "'. Try "u8, .. Text(command.Name), .. " HELP."u8]);
            }

            context.Command = command = found;
            context.Args.Skip(1);
        }

        if (!command.Takes(count))
            return Refuse(ref context, Text($"ERR wrong number of arguments for '{command.FullName}' command"));
        var gate = context.Session.Gate;
        if ((gate & SessionGate.Unauthenticated) != 0 && (command.Flags & CommandFlags.NoAuth) == 0)
            return Refuse(ref context, Errors.NoAuth);
        if ((gate & SessionGate.Multi) != 0 && (command.Flags & CommandFlags.NoMulti) != 0)
            return Refuse(ref context, "ERR Command not allowed inside a transaction"u8);
        if ((gate & SessionGate.Reserved) != 0 && Admission.IsTurnedAway(server, context.Session, command))
            return Refuse(ref context, Errors.MaxClients);
        if ((gate & SessionGate.Subscriber) != 0 && !IsForSubscribers(command))
        {
            return Refuse(ref context,
                Text(
                $"ERR Can't execute '{command.FullName}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET "
                + $"are allowed in this context"));
        }

        if (server.Options.NoPubSub && command.Group == CommandGroup.PubSub)
            return Refuse(ref context, "ERR publish/subscribe is switched off (no-pubsub)"u8);
        if (server.Options.NoObj && IsOfObjects(command.Group))
            return Refuse(ref context, "ERR commands of objects are switched off (no-obj)"u8);
        if (BoundsKeys && HasTooLongKey(command, context.Args)) return Refuse(ref context, Errors.KeyTooLong);
        return true;
    }

    /// <summary>At maxmemory: what needs memory waits while what is dead is given back, and is refused when that is not
    /// enough.</summary>
    /// <returns>False when it has been answered with an error, or waits.</returns>
    private bool TryFindRoom(ref CommandContext context, Argument* items)
    {
        if (server.Store.IsOverBudget && NeedsRoom(context.Session, context.Command))
            return TryWaitForRoom(ref context, items);
        if (context.Session.RoomDeadlineTickMs != 0) context.Session.RoomDeadlineTickMs = 0;
        return true;
    }

    /// <inheritdoc cref="TryFindRoom"/>
    private bool TryWaitForRoom(ref CommandContext context, Argument* items)
    {
        var session = context.Session;
        var room = store.AskRoom();
        long now = server.TickMs, deadline = session.RoomDeadlineTickMs;
        bool isLate = deadline != 0 && now >= deadline;
        if (room != StoreRoom.Soon || isLate || items == null)
        {
            session.RoomDeadlineTickMs = 0;
            if (isLate) server.RoomWaits.Remove(session);
            return room == StoreRoom.Free || Refuse(ref context, Errors.OutOfMemory);
        }

        if (deadline == 0) deadline = session.RoomDeadlineTickMs = now + RoomWaits.WaitMsMax;
        session.Held = context.Args.Keep(server.Store);
        session.Park(deadline);
        server.RoomWaits.Add(session);
        // Who decides wakes those who are in the list: what was decided before this one was is seen here.
        if (store.AskRoom() != StoreRoom.Soon) session.Unpark();
        output.Rewind(new ReplyMark(ReplyStart, 0));
        return false;
    }

    /// <summary>What may need memory: EXEC, if something queued does. What reads is queued above the limit, too, as in
    /// Redis 7.4; multi-queue-limit bounds it.</summary>
    private static bool NeedsRoom(Session session, Command command) =>
        (command.Flags & CommandFlags.DenyOom) != 0
        || (session.InMulti && command.Name == "EXEC" && (session.Transaction!.Flags & CommandFlags.DenyOom) != 0);

    private bool HasTooLongKey(Command command, in CommandArguments args)
    {
        long most = server.Options.MaxKeyBytes;
        foreach (var spec in command.Keys)
        {
            if ((spec.Access & KeyAccess.NotKey) != 0
                || KeyFinder.Find(spec, args, 0, out var range) != KeySearch.Found) continue;
            for (int i = 0; i < range.Count; i++)
            {
                if (args[range.First + i * range.Step].Length > most) return true;
            }
        }

        return false;
    }

    private bool Refuse(ref CommandContext context, scoped ReadOnlySpan<byte> error)
    {
        var session = context.Session;
        if (session.InMulti) session.Transaction!.Abort();
        if (context.Command.Name == "EXEC")
        {
            session.Transaction?.Close();
            error = (byte[])[.. Errors.ExecAbortBecause, .. error.StartsWith("ERR "u8) ? error[4..] : error];
        }

        _reply.WriteError(error);
        counters.ByCommand[context.Command.Id].Rejected++;
        CountError();
        var mode = context.Session.ReplyMode;
        if (mode != ReplyMode.On) Silence(context.Session, mode);
        return false;
    }

    /// <summary>CLIENT PAUSE: the command is kept, and run when the pause has ended.</summary>
    private bool MustWait(ref CommandContext context, Argument* items)
    {
        if (!server.Pause.IsActive || items == null) return false;
        var flags = context.Command.Flags;
        if (context.Session.InMulti && context.Command.Name == "EXEC") flags |= context.Session.Transaction!.Flags;
        bool writes = (flags & (CommandFlags.Write | CommandFlags.MayReplicate)) != 0;
        // CLIENT itself always runs: somebody must be able to end the pause.
        if ((context.Command.Container ?? context.Command).Name == "CLIENT") return false;
        if (!server.Pause.Holds(writes)) return false;
        context.Session.Held = context.Args.Keep(server.Store);
        context.Session.Park(long.MaxValue);
        // Who ends a pause wakes the sessions that have a held command: if it ended before this one had, nobody else
        // will. (The pause's lock is between the holding and this look, as it is between its end and that one.)
        if (!server.Pause.Holds(writes)) context.Session.Unpark();
        output.Rewind(new ReplyMark(ReplyStart, 0));
        return true;
    }

    /// <summary>Drops the reply of a client that wants none.</summary>
    private void Silence(Session session, ReplyMode before)
    {
        // CLIENT REPLY itself has answered as it should, in the mode that it left.
        if (before == ReplyMode.Off && session.ReplyMode != ReplyMode.Off) return;
        if (before != ReplyMode.Off)
        {
            if (session.ReplyMode is not (ReplyMode.Skip or ReplyMode.SkipAgain)) return;
            session.ReplyMode = session.ReplyMode == ReplyMode.SkipAgain ? ReplyMode.Skip : ReplyMode.On;
        }

        output.Rewind(new ReplyMark(ReplyStart, 0));
    }

    /// <summary>Drops what a long command has written so far; the client goes on to want no reply until it is
    /// done.</summary>
    private void SilenceStep(Session session)
    {
        session.IsInReply = false;
        output.Rewind(new ReplyMark(ReplyStart, 0));
    }

    /// <summary>Whether what the command wrote are messages, not a reply: a client that wants no replies still gets
    /// those.</summary>
    private bool IsPushed(Command command) =>
        command.Group == CommandGroup.PubSub && (command.Flags & CommandFlags.OwnReplies) != 0 && !_reply.LastWasError;

    private void CountError()
    {
        counters.Errors++;
        server.Counters.CountError(_reply.ErrorCode);
    }

    private static bool IsForSubscribers(Command command) => command.Name is
        "SUBSCRIBE" or "PSUBSCRIBE" or "SSUBSCRIBE" or "UNSUBSCRIBE" or "PUNSUBSCRIBE" or "SUNSUBSCRIBE" or "PING"
        or "QUIT" or "RESET";

    private static bool IsOfObjects(CommandGroup group) => group is
        CommandGroup.List or CommandGroup.Set or CommandGroup.SortedSet or CommandGroup.Hash or CommandGroup.Geo
        or CommandGroup.Stream;

    private static ReadOnlySpan<byte> Cut(ReadOnlySpan<byte> text, int bytes) =>
        text.Length <= bytes ? text : text[..bytes];

    private static byte[] Text(string text) => Encoding.Latin1.GetBytes(text);
}
