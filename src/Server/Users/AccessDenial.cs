using System.Text;
using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Users;

/// <summary>What is said, and noted, of a call that its user may not make.</summary>
internal static class AccessDenial
{
    /// <summary>Notes a denial in the log of ACL LOG.</summary>
    /// <param name="args">The call's, with the command's name first.</param>
    public static void Note(Session client, AccessContext context, Verdict verdict, Command command,
        in CommandArguments args)
    {
        byte[] name = verdict.Denial == Denial.Command ? Encoding.ASCII.GetBytes(command.FullName) : [];
        client.Server.AccessLog.Add(client, context, verdict.Denial,
            verdict.Denial == Denial.Command ? name : args[verdict.Index].Span, client.User.Name);
    }

    /// <summary>The reason, without a code; of a key or channel not which: a client may not even know that it is
    /// there.</summary>
    public static string Reason(Verdict verdict, User user, Command command) => verdict.Denial switch
    {
        Denial.Key => "No permissions to access a key",
        Denial.Channel => "No permissions to access a channel",
        _ => $"User {user.Name} has no permissions to run the '{command.FullName}' command",
    };

    /// <summary>The reason with the key or channel, for an administrator.</summary>
    public static string FullReason(Verdict verdict, User user, Command command, string what) => verdict.Denial switch
    {
        Denial.Key => $"User {user.Name} has no permissions to access the '{what}' key",
        Denial.Channel => $"User {user.Name} has no permissions to access the '{what}' channel",
        _ => Reason(verdict, user, command),
    };

    /// <summary>The error of a command that was allowed when it was queued.</summary>
    public static string ReasonInExec(Verdict verdict) =>
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. "
        + "This command is no longer allowed for the following reason: " + verdict.Denial switch
        {
            Denial.Key => "no permission to touch the specified keys",
            Denial.Channel => "no permission to access one of the channels used as arguments",
            _ => "no permission to execute the command or subcommand",
        };
}
