using Kv.Server.Configuration;
using Kv.Server.Execution;

namespace Kv.Server.Http;

/// <summary>HTTP on the port of clients (http-on-port): a connection whose first line is a request of HTTP gets one
/// page, and ends.</summary>
/// <remarks>
/// The line arrives as a command of three words, which GET, the only one of these names, refuses: so no command changes
/// its meaning. The lines after it, the headers, are never run. POST stays what it is: the end of the connection, as it
/// may be a web page's attack.
/// Threads: one worker or lease.
/// </remarks>
internal static class HttpOnPort
{
    /// <summary>Answers a command that is the first line of its connection, and may be a request.</summary>
    /// <returns>False when it is none: nothing was done.</returns>
    public static bool TryAnswer(ref CommandContext context)
    {
        var (session, server) = (context.Session, context.Server);
        var allowed = server.Options.HttpOnPort;
        if (allowed == AllowedFor.No || (allowed == AllowedFor.Local && !session.IsLocal)) return false;
        ref readonly var words = ref context.Args;
        if (!HttpRequestLine.TryRead(words[0].Span, words[1].Span, words[2].Span, out var request)) return false;
        // With a password set whoever has not said it, as nobody can here, is not shown figures; nor is a user who may
        // not call INFO.
        bool mayRead = session.Authenticated && (session.Restriction?.MayCall(server.Http.Info) ?? true);
        if (server.Http.Answer(request, mayRead) is { } reply)
        {
            context.Reply.WriteRaw(reply);
            session.CloseAfterReply = true;
            return true;
        }

        var steps = new PageSteps(server, session);
        session.LastCommand = context.Command;
        session.Steps = steps;
        session.Park(long.MaxValue);
        server.Remainders.Start(steps.Make);
        return true;
    }
}
