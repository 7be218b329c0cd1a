using System.Text;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Execution;

/// <summary>Runs what a session's state, or the server's, keeps from simply being called: with checks, queued by MULTI,
/// in a later turn, without a reply; and answers what is no command.</summary>
/// <remarks>Threads: one worker or lease. The common case does not come here: <see cref="CommandWindow"/> has the
/// runner call the handler itself.</remarks>
internal sealed unsafe class Dispatcher(KvServer server, StoreSession store, CommandRunner runner,
    SessionOutput output)
{
    /// <summary>What a TLS client says first.</summary>
    public const byte TlsHandshake = 0x16;

    /// <summary>Bytes of an unknown command, and of its arguments, that the error repeats.</summary>
    private const int EchoBytes = 128;

    private readonly ReplyWriter _reply = output.Reply;
    private readonly CommandChecks _checks = new(server, store, runner, output);

    /// <inheritdoc cref="CommandChecks.IsGuarded"/>
    public bool IsGuarded => _checks.IsGuarded;

    /// <summary>Runs a command with every check.</summary>
    /// <param name="items">Its arguments, to be kept should it have to wait.</param>
    public void Run(ref CommandContext context, Argument* items)
    {
        var session = context.Session;
        var mode = session.ReplyMode;
        runner.Begin(session);
        var result = _checks.Check(ref context, items);
        if (result == CheckResult.Waits) return;
        if (result == CheckResult.Runs)
        {
            session.LastCommand = context.Command;
            if (session.InMulti && (context.Command.Flags & CommandFlags.NotQueued) == 0) Queue(ref context, items);
            else runner.Run(ref context);
        }

        if (mode == ReplyMode.On) return;
        if (session.Steps != null && !IsPushed(context.Command)) SilenceStep(session);
        else if (session.InMulti || !IsPushed(context.Command)) Silence(session, mode);
        // messages are not skipped, but it was their turn
        else if (mode == ReplyMode.Skip) session.ReplyMode = ReplyMode.On;
    }

    /// <summary>Goes on with a session that waited: its held command, or the next step of a long one.</summary>
    /// <returns>False when it waits again, or is not done.</returns>
    public bool Resume(ref CommandContext context)
    {
        var session = context.Session;
        if (session.IsParked) return false;
        if (session.Held != null) RunHeld(ref context);
        else if (session.Steps is { } steps && !TryEndSteps(ref context, steps)) return false;
        return (session.Gate & SessionGate.Stopped) == 0;
    }

    /// <summary>Answers the command that threw: one error, whatever it had written.</summary>
    public void FailCommand(Session session, Exception exception)
    {
        bool partlySent = session.IsInReply;
        session.IsInReply = false;
        runner.Fail(session, exception);
        if (partlySent) session.CloseAfterReply = true;     // half a reply has left: nothing sensible can follow
        if (session.ReplyMode != ReplyMode.On) Silence(session, session.ReplyMode);
        runner.ServeArrivals();
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

        runner.Begin(context.Session);
        runner.FailWith(ProtocolErrors.Text(status, context.Session.Partial.Got));
        if (server.Log.IsEnabled(LogLevel.Debug) && server.LogBrakes.Protocol.TryTake(server.TickMs, out string more))
            server.Log.LogDebug("Protocol error of client {Address}: {Status}; closed{More}", context.Session.Address,
                status, more);
    }

    /// <summary>Answers a command that does not exist.</summary>
    public void FailUnknown(ref CommandContext context)
    {
        runner.Begin(context.Session);
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
        runner.FailWith(text.ToArray());
        if (mode != ReplyMode.On) Silence(context.Session, mode);
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
        runner.Reject(context.Command, "ERR transaction queue is larger than multi-queue-limit"u8);
    }

    private void RunHeld(ref CommandContext context)
    {
        var session = context.Session;
        var held = session.Held!;
        session.Held = null;
        held.EndCharge();
        try
        {
            ref readonly var entry = ref server.Commands.Find(held.Items->Pointer, held.Items->Length);
            context.Command = server.Commands.All[entry.Number];
            context.Args.Begin(held.Items, held.Count, 0, 0, 0, session.Blocks, held.Large);
            Run(ref context, held.Items);
        }
        finally
        {
            held.Dispose();
        }
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

        if (isDone && wasInReply) session.WriteMessages(_reply);        // those that could not be written in between
        return isDone;
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

        output.Rewind(new ReplyMark(_reply.ReplyStart, 0));
    }

    /// <summary>Drops what a long command has written so far; the client goes on to want no reply until it is
    /// done.</summary>
    private void SilenceStep(Session session)
    {
        session.IsInReply = false;
        output.Rewind(new ReplyMark(_reply.ReplyStart, 0));
    }

    /// <summary>Whether what the command wrote are messages, not a reply: a client that wants no replies still gets
    /// those.</summary>
    private bool IsPushed(Command command) =>
        command.Group == CommandGroup.PubSub && (command.Flags & CommandFlags.OwnReplies) != 0 && !_reply.LastWasError;

    private static ReadOnlySpan<byte> Cut(ReadOnlySpan<byte> text, int bytes) =>
        text.Length <= bytes ? text : text[..bytes];
}
