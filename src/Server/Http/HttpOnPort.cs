using System.Diagnostics;
using Kv.Server.Configuration;
using Kv.Server.Execution;

namespace Kv.Server.Http;

/// <summary>HTTP on the port of clients (http-on-port): a connection whose first line is a request of HTTP gets one
/// page, and ends.</summary>
/// <remarks>
/// The line arrives as a command of three words, which GET, the only one of these names, refuses: so no command changes
/// its meaning. The lines after it, the headers, are never run; the web page looks at two of them. POST stays what it
/// is: the end of the connection, as it may be a web page's attack.
/// Threads: one worker or lease.
/// </remarks>
internal static class HttpOnPort
{
    /// <summary>Answers a command that is the first line of its connection, and may be a request.</summary>
    /// <param name="input">What the client has sent so far.</param>
    /// <returns>False when it is none: nothing was done.</returns>
    public static bool TryAnswer(ref CommandContext context, ReadOnlySpan<byte> input)
    {
        var (session, server) = (context.Session, context.Server);
        var allowed = server.Options.HttpOnPort;
        if (allowed == AllowedFor.No || (allowed == AllowedFor.Local && !session.IsLocal)) return false;
        ref readonly var words = ref context.Args;
        Debug.Assert(words.Count == 3 && session.Steps == null, "three words, and nothing was asked before");
        if (!HttpRequestLine.TryRead(words[0].Span, words[1].Span, words[2].Span, out var request)) return false;
        // With a password set whoever has not said it is not shown figures; nor is a user who may not call INFO.
        var rules = session.Authenticated ? session.User.Rules : null;
        var answer = server.Http.Answer(request, new HttpCaller(rules?.MayCall(server.Http.Gate.Info) ?? false, rules,
            HttpHead.Read(input), session.Address));
        if (answer.Make is { } make)
        {
            var steps = new PageSteps(server, session, make);
            session.LastCommand = context.Command;
            session.Steps = steps;
            session.Park(long.MaxValue);
            server.Remainders.Start(steps.Make);
        }
        else if (answer.DelayMs > 0)
        {
            session.LastCommand = server.Http.Gate.Info;        // HEAD is no command
            context.Park(answer.DelayMs, new LateReply(answer.Reply!));
        }
        else
        {
            context.Reply.WriteRaw(answer.Reply);
            session.CloseAfterReply = true;
        }

        return true;
    }

    /// <summary>Replies after a while.</summary>
    private sealed class LateReply(byte[] reply) : ICommandSteps
    {
        /// <inheritdoc/>
        public bool Holds => false;

        /// <inheritdoc/>
        public bool Step(ref CommandContext context)
        {
            context.Reply.WriteRaw(reply);
            context.Session.CloseAfterReply = true;
            return true;
        }
    }
}
