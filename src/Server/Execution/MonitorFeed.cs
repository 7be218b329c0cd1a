using System.Runtime.CompilerServices;
using System.Text;
using Kv.Server.Diagnostics;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Execution;

/// <summary>Shows those who watch (MONITOR) what is run.</summary>
internal static class MonitorFeed
{
    /// <summary>Commands whose lines others than their runner write, or nobody.</summary>
    private const CommandFlags NotShown = CommandFlags.Admin | CommandFlags.SkipMonitor;

    /// <summary>Shows a command that has run, if somebody watches.</summary>
    /// <param name="context">The command's, with its arguments.</param>
    /// <param name="buffer">Keeps the line; null: it is shown at once.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void ShowRun(ref CommandContext context, MonitorBuffer? buffer)
    {
        if ((context.Command.Flags & NotShown) == 0) Show(ref context, buffer);
    }

    /// <summary>Shows a command that is about to run others, which come after it (scripts), if somebody
    /// watches.</summary>
    public static void ShowBegin(ref CommandContext context)
    {
        if (context.Server.Timing.ShowsAll) Show(ref context, null);
    }

    /// <summary>Shows a command by its name alone: its arguments are gone.</summary>
    public static void ShowName(ref CommandContext context)
    {
        var line = Begin(ref context);
        try
        {
            line.Append(Encoding.ASCII.GetBytes(context.Command.Name));
            End(ref context, ref line, null);
        }
        finally
        {
            line.Dispose();
        }
    }

    private static void Show(ref CommandContext context, MonitorBuffer? buffer)
    {
        ref readonly var args = ref context.Args;
        var line = Begin(ref context);
        try
        {
            for (int i = 0; i < args.Count; i++)
            {
                if (SecretArguments.Has(context.Command, context.Server.Commands, args, i)) line.AppendRedacted();
                else line.Append(args[i].Span);
            }

            End(ref context, ref line, buffer);
        }
        finally
        {
            line.Dispose();
        }
    }

    private static MonitorLine Begin(ref CommandContext context) =>
        new(context.Server.Time.GetUtcNow(), context.Session.Database, NameOf(context.Session));

    private static void End(ref CommandContext context, ref MonitorLine line, MonitorBuffer? buffer)
    {
        line.End();
        try
        {
            var message = context.Server.Monitors.Encode(line.Text);
            if (buffer == null) context.Server.Monitors.Push(message);
            else buffer.Add(message);
        }
        catch (Exception exception)
        {
            // The command has run, and its reply is whole: those who watch miss a line, and that is all.
            var server = context.Server;
            if (server.LogBrakes.Monitor.TryTake(server.TickMs, out string more))
                server.Log.LogCritical(exception, "A line of MONITOR is lost{More}", more);
        }
    }

    /// <summary>The client in a line. A script's stand-in has no address.</summary>
    private static string NameOf(Session session)
    {
        if (session.Address.Length == 0) return "lua";
        if (!session.LocalAddress.StartsWith('/')) return session.Address;
        int port = session.LocalAddress.LastIndexOf(':');
        return "unix:" + (port < 0 ? session.LocalAddress : session.LocalAddress[..port]);
    }
}
