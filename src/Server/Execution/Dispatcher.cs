using System.Diagnostics;
using System.Text;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Execution;

/// <summary>Runs the commands that cannot simply be called: those that are checked, queued by MULTI, run in a later
/// turn or without a reply. Writes the error for what is no command.</summary>
/// <remarks>Threads: one worker or lease. The common case does not come here: <see cref="CommandWindow"/> lets the
/// runner call the handler itself.</remarks>
internal sealed unsafe class Dispatcher(KvServer server, StoreSession store, CommandRunner runner,
    SessionOutput output)
{
    /// <summary>The first byte that a TLS client sends.</summary>
    public const byte TlsHandshake = 0x16;

    /// <summary>How many bytes of an unknown command, and of its arguments, the error repeats.</summary>
    private const int EchoBytes = 128;

    private readonly ReplyWriter _reply = output.Reply;
    private readonly CommandChecks _checks = new(server, store, runner, output);

    /// <summary>How much has come from the first byte of a connection on, where one is given.</summary>
    public int FirstLength { get; set; }

    /// <inheritdoc cref="CommandChecks.IsGuarded"/>
    public bool IsGuarded => _checks.IsGuarded;

    /// <summary>Runs a command with every check.</summary>
    /// <param name="items">Its arguments, kept if it has to wait.</param>
    /// <param name="firstByte">The first byte of the connection, if the command may begin there; else null.</param>
    public void Run(ref CommandContext context, Argument* items, byte* firstByte = null)
    {
        var session = context.Session;
        var tracking = session.Tracking;
        tracking?.BeginCommand();
        if (!TryRun(ref context, items, firstByte) || tracking == null) return;
        TrackedReads.EndCommand(session, context.Command);
        session.WriteMessages(_reply);      // what the command has changed itself comes right after its reply
    }

    /// <returns>False when it waits: it has not begun.</returns>
    private bool TryRun(ref CommandContext context, Argument* items, byte* firstByte)
    {
        var session = context.Session;
        var mode = session.ReplyMode;
        runner.Begin(session);
        if (items != null && items->Pointer == firstByte && !context.Command.Takes(context.Args.Count)
            && TryAnswerHttp(ref context, firstByte)) return true;
        var result = _checks.Check(ref context, items);
        if (result == CheckResult.Waits) return false;
        if (result == CheckResult.Runs)
        {
            session.LastCommand = context.Command;
            if (session.InMulti && (context.Command.Flags & CommandFlags.NotQueued) == 0) Queue(ref context, items);
            else RunNow(ref context);
        }

        if (mode != ReplyMode.On) SilenceAfter(ref context, mode);
        return true;
    }

    private void RunNow(ref CommandContext context)
    {
        if (context.Session.Tracking is { } tracking) TrackedReads.Remember(ref context, tracking);
        runner.Run(ref context);
    }

    /// <summary>Drops the reply of a command that began when the client wanted none.</summary>
    private void SilenceAfter(ref CommandContext context, ReplyMode mode)
    {
        var session = context.Session;
        if (session.Steps != null && !IsPushed(context.Command)) SilenceStep(session);
        else if (session.InMulti || !IsPushed(context.Command)) Silence(session, mode);
        // Messages are not skipped, but use up the SKIP.
        else if (mode == ReplyMode.Skip) session.ReplyMode = ReplyMode.On;
    }

    /// <summary>Goes on with a session: runs its held command, or the next step of a long one.</summary>
    /// <returns>False when the session waits again, or the command is not done.</returns>
    public bool Resume(ref CommandContext context)
    {
        var session = context.Session;
        if (session.IsParked) return false;
        if (session.Held != null) RunHeld(ref context);
        else if (session.Steps is { } steps && !TryEndSteps(ref context, steps)) return false;
        return (session.Gate & SessionGate.Stopped) == 0;
    }

    /// <summary>Replaces what a command that threw has written by one error.</summary>
    /// <param name="context">The command's, with its arguments, or none where they are gone.</param>
    public void FailCommand(ref CommandContext context, Exception exception)
    {
        var session = context.Session;
        bool partlySent = session.IsInReply;
        session.IsInReply = false;
        runner.Fail(session, exception);
        if (partlySent) session.CloseAfterReply = true;     // half a reply has been sent: nothing sensible can follow
        if (session.ReplyMode != ReplyMode.On) Silence(session, session.ReplyMode);
        runner.ServeArrivals(ref context);
        if (session.Tracking == null) return;
        TrackedReads.EndCommand(session, session.LastCommand);
        session.WriteMessages(_reply);      // those that have waited for its end
    }

    /// <summary>Writes the error for bytes that are no command; the connection ends.</summary>
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

        runner.Begin(context.Session);
        runner.FailWith(ProtocolErrors.Text(status, context.Session.Partial.Got));
        if (server.Log.IsEnabled(LogLevel.Debug) && server.LogBrakes.Protocol.TryTake(server.TickMs, out string more))
            server.Log.LogDebug("Protocol error of client {Address}: {Status}; closed{More}", context.Session.Address,
                status, more);
    }

    /// <summary>Writes the error for a command that does not exist.</summary>
    /// <param name="firstByte">As for <see cref="Run"/>.</param>
    public void FailUnknown(ref CommandContext context, byte* firstByte)
    {
        runner.Begin(context.Session);
        var name = context.Args[0].Span;
        if (CommandName.Equal("POST"u8, name) || CommandName.Equal("HOST:"u8, name))
        {
            // A web page may have made a browser send this: nothing in it may have an effect.
            context.Session.CloseAfterReply = true;
            if (server.LogBrakes.Http.TryTake(server.TickMs, out string more))
                server.Log.LogWarning(
                    "Client {Address} speaks HTTP, possibly an attack by way of a browser; closed{More}",
                    context.Session.Address, more);
            return;
        }

        if (context.Args.At(0)->Pointer == firstByte && TryAnswerHttp(ref context, firstByte)) return;
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
        runner.FailWith(text.ToArray());
        if (mode != ReplyMode.On) Silence(context.Session, mode);
        if (context.Session.Tracking != null) TrackedReads.EndCommand(context.Session, command: null);
    }

    /// <summary>Answers the first line of a connection, if it is a request of HTTP: three words with one space
    /// between them, which as arguments of RESP stand further apart.</summary>
    private bool TryAnswerHttp(ref CommandContext context, byte* firstByte)
    {
        if (context.Args.Count != 3) return false;
        Argument* words = context.Args.At(0);
        return words[1].Pointer == words[0].Pointer + words[0].Length + 1
            && words[2].Pointer == words[1].Pointer + words[1].Length + 1
            && server.Http.TryAnswer(ref context, new ReadOnlySpan<byte>(firstByte, FirstLength));
    }

    private void Queue(ref CommandContext context, Argument* items)
    {
        Debug.Assert(context.Session.InMulti && _reply.Owed == 1, "commands are queued between MULTI and EXEC");
        var transaction = context.Session.Transaction!;
        if (transaction.IsAborted || transaction.TryQueue(context.Command, items, context.Args.Count,
            context.Args.Large, server.Options.MultiQueueLimit))
        {
            _reply.WriteSimple("QUEUED"u8);
            return;
        }

        transaction.Abort();
        runner.Reject(context.Command, "ERR transaction queue is larger than multi-queue-limit"u8);
    }

    private void RunHeld(ref CommandContext context)
    {
        var session = context.Session;
        var held = session.Held!;
        Debug.Assert(session.Steps == null && !session.IsParked, "a held command runs before any other");
        if (session.AwaitsStill(store)) return;
        session.Held = null;
        held.EndCharge();
        KeyInUseException? comesAgain = null;
        try
        {
            ref readonly var entry = ref server.Commands.Find(held.Items->Pointer, held.Items->Length);
            context.Command = server.Commands.All[entry.Number];
            context.Args.Begin(held.Items, held.Count, 0, 0, 0, session.Blocks, held.Large);
            Run(ref context, held.Items);
        }
        catch (KeyInUseException exception)
        {
            comesAgain = exception;
        }
        catch
        {
            runner.Events.EndCommand(context.Sent);      // while there are its arguments
            throw;
        }
        finally
        {
            if (comesAgain == null)
            {
                held.Dispose();
                session.ComesAgainSinceTickMs = 0;
            }
        }

        if (comesAgain == null) return;
        store.MayComeAgain = false;
        held.BeginCharge();
        KeepForLater(session, held, comesAgain);
    }

    /// <summary>Keeps a command of which nothing was done (<see cref="KeyInUseException"/>): the session's next turn
    /// begins with it.</summary>
    /// <param name="why">Of others' work (<see cref="KeyInUseException.IsOfOthers"/>) that turn is a moment
    /// later.</param>
    public void KeepForLater(Session session, HeldCommand command, KeyInUseException why)
    {
        Debug.Assert(session.Held == null && session.Steps == null, "a session has one command at a time");
        output.Rewind(new ReplyMark(_reply.ReplyStart, 0));
        session.NoteComesAgain();
        session.Held = command;
        session.Awaited = why.Work;
        if (why.IsOfOthers) session.Park(server.TickMs + Session.SnapshotWaitMs);
    }

    private bool TryEndSteps(ref CommandContext context, ICommandSteps steps)
    {
        var session = context.Session;
        if (context.Store.Presence.IsTurnedAway && !steps.GoesOnInPause) return false;
        bool wasInReply = session.IsInReply;
        bool isDone = runner.Step(ref context, steps);
        if (session.ReplyMode != ReplyMode.On && !IsPushed(context.Command))
        {
            if (isDone) Silence(session, session.ReplyMode);
            else SilenceStep(session);
        }

        if (!isDone) return false;
        // Those that have waited for the reply's end: all that was written since, where that is a snapshot.
        if (session.Tracking != null) session.WriteMessages(_reply);
        else if (wasInReply) session.SendMessagesSoon();
        return true;
    }

    /// <summary>Drops the reply of a client that wants none.</summary>
    private void Silence(Session session, ReplyMode before)
    {
        // CLIENT REPLY ON itself has replied, as it should.
        if (before == ReplyMode.Off && session.ReplyMode != ReplyMode.Off) return;
        if (before != ReplyMode.Off)
        {
            if (session.ReplyMode is not (ReplyMode.Skip or ReplyMode.SkipAgain)) return;
            session.ReplyMode = session.ReplyMode == ReplyMode.SkipAgain ? ReplyMode.Skip : ReplyMode.On;
        }

        output.Rewind(new ReplyMark(_reply.ReplyStart, 0));
    }

    /// <summary>Drops what a long command has written so far; the reply mode stays until the command is done.</summary>
    private void SilenceStep(Session session)
    {
        session.IsInReply = false;
        output.Rewind(new ReplyMark(_reply.ReplyStart, 0));
    }

    /// <summary>Whether the command wrote messages, not a reply: a client that wants no replies still gets
    /// messages.</summary>
    private bool IsPushed(Command command) =>
        command.Group == CommandGroup.PubSub && (command.Flags & CommandFlags.OwnReplies) != 0 && !_reply.LastWasError;

    private static ReadOnlySpan<byte> Cut(ReadOnlySpan<byte> text, int bytes) =>
        text.Length <= bytes ? text : text[..bytes];
}
