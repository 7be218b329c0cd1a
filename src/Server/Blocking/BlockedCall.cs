using System.Diagnostics;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Server.Users;

namespace Kv.Server.Blocking;

/// <summary>With what a blocked command was called: until it is served, its user may lose the right to the
/// call.</summary>
/// <remarks>Threads: made by the session's own before the command stands in a queue, and disposed by it after the
/// command has left all of them; between the two, whoever has the lock of one of these queues uses it.</remarks>
internal sealed class BlockedCall : IDisposable
{
    private readonly Session _session;
    private readonly Command _command;
    private readonly UserRules? _checkedBy;
    private readonly HeldCommand _arguments;

    public BlockedCall(ref CommandContext context)
    {
        _session = context.Session;
        _command = context.Command;
        _checkedBy = context.Session.Restriction;
        _arguments = context.Args.Keep(context.Server.Store);
    }

    /// <summary>Whether the user may make the call now.</summary>
    public Verdict Judge()
    {
        // A session that waits logs in as nobody else: the user is the one who made the call.
        var rules = _session.User.Rules;
        bool isKnown = rules.AllowsEverything || ReferenceEquals(rules, _checkedBy);
        return isKnown ? default : rules.Check(_command, _arguments.Look());
    }

    /// <summary>Notes that the user may not make the call any more, and writes the error.</summary>
    public void Deny(Verdict verdict, ReplyWriter reply)
    {
        Debug.Assert(!verdict.IsAllowed, "there is a reason");
        AccessDenial.Note(_session, AccessContext.TopLevel, verdict, _command, _arguments.Look());
        reply.WriteError(Encoding.Latin1.GetBytes(
            "NOPERM " + AccessDenial.Reason(verdict, _session.User, _command)));
    }

    public void Dispose() => _arguments.Dispose();
}
