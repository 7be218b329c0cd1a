using System.Diagnostics;
using Kv.Protocol;

namespace Kv.Server.Execution;

/// <summary>What the handler of every row promises, looked at before and after each call in builds with
/// assertions.</summary>
/// <remarks>Of what goes on in steps only the first turn is looked at. EXEC and scripts run commands of their own, each
/// of which is looked at by itself.</remarks>
internal struct HandlerPromises
{
    private Command _command;
    private long _changes;
    private int _references;

    /// <summary>Before the handler is called.</summary>
    [Conditional("DEBUG")]
    public void Begin(ref CommandContext context)
    {
        _command = context.Command;
        _changes = context.Store.Changes.ChangesSeen;
        _references = context.Output.ReferenceCount;
        Debug.Assert(context.Store.Presence.IsOnline, "a command runs in a turn of the store");
        Debug.Assert(context.Store.HoldsNothing, "the last command has let go of its keys");
        Debug.Assert(context.Reply.Owed == 1, "one reply is owed");
    }

    /// <summary>After it has returned.</summary>
    [Conditional("DEBUG")]
    public readonly void Check(ref CommandContext context)
    {
        Debug.Assert(context.Store.Presence.IsOnline, $"{_command.FullName} has ended the turn");
        Debug.Assert(context.Store.HoldsNothing, $"{_command.FullName} still holds a key");
        if (context.Session.Steps != null || (_command.Flags & CommandFlags.OwnReplies) != 0) return;
        var reply = context.Reply;
        if (reply.Owed == 0 && context.Output.ReferenceCount == _references && !IsWhole(reply))
            Debug.Fail($"{_command.FullName} has not written one whole reply, of RESP{(int)reply.Version}");
        // DEBUG and its kind are not a client's business.
        if (_command.Group is CommandGroup.Transactions or CommandGroup.Scripting
            || (_command.Flags & CommandFlags.Admin) != 0) return;
        if (context.Store.Changes.ChangesSeen == _changes) return;
        if (!_command.MayChange)
            Debug.Fail($"{_command.FullName} has changed something, and its row says that it does not");
        if (context.Args.Failed)
            Debug.Fail($"{_command.FullName} has found a bad argument, and changed something");
        // What comes first may still be undone by a lack of memory for the rest.
        if (reply.LastWasError && !reply.ErrorCode.SequenceEqual("OOM"u8))
            Debug.Fail($"{_command.FullName} has changed something, and then refused");
    }

    private static bool IsOfResp2(byte type) =>
        type is RespType.SimpleString or RespType.Error or RespType.Integer or RespType.Bulk or RespType.Array;

    private static bool IsWhole(ReplyWriter reply)
    {
        var bytes = reply.Output.Span[reply.ReplyStart..];
        if (bytes.IsEmpty) return true;         // CLIENT REPLY: whoever called it sees to that
        // Ends: each round passes over a value. What QUIT and RESET let pass ahead of theirs are messages, and lines of
        // MONITOR.
        for (int end = 0; ReplyReader.TrySkip(bytes, ref end, out byte type) == ReplyStatus.Complete;)
        {
            if (end == bytes.Length) return reply.Version == RespVersion.Resp3 || IsOfResp2(type);
            if (type is not (RespType.Push or RespType.Array or RespType.SimpleString)) return false;
        }

        return false;
    }
}
