using Kv.Server.Sessions;
using Kv.Server.Tracking;

namespace Kv.Server.Execution;

/// <summary>Which keys a command of a client that tracks reads, by its row: they are noted before it runs.</summary>
/// <remarks>Threads: whoever runs the command. Cost: nothing for clients that do not track.</remarks>
internal static class TrackedReads
{
    /// <summary>Notes the keys of a command that is about to run, if it reads any.</summary>
    public static void Remember(ref CommandContext context, ClientTracking tracking)
    {
        if (!context.Command.ReadsKeys || !tracking.Remembers) return;
        if (context.Command.StepsNoteKeys && context.IsLong(context.Args.Count - 1)) return;
        var engine = context.Server.Tracking;
        int noted = 0;
        foreach (var spec in context.Command.Keys)
        {
            if ((spec.Access & KeyAccess.NotKey) != 0
                || KeyFinder.Find(spec, context.Args, 0, out var range) != KeySearch.Found) continue;
            noted += range.Count;
            for (int i = 0; i < range.Count; i++)
                engine.Remember(tracking, context.Store.Key(context.Args[range.First + (i * range.Step)].Span));
        }

        engine.EndRemembering(noted);
    }

    /// <summary>A command of a client has run, or was refused: what CLIENT CACHING said was for it.</summary>
    /// <param name="command">Null: there is no such command.</param>
    public static void EndCommand(Session session, Command? command)
    {
        bool isClient = (command?.Container ?? command)?.Name == "CLIENT";
        session.Tracking?.EndCommand(isLast: !isClient && !session.InMulti, goesOn: session.Steps != null);
    }
}
