using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Server.Tracking;

namespace Kv.Server.Families;

/// <summary>CLIENT TRACKING and what belongs to it: clients that keep copies of values are told when those
/// change.</summary>
internal static class ClientTrackingCommands
{
    /// <summary>Prefixes of a client: each new one is compared with all.</summary>
    private const int PrefixesMax = 1024;

    private static ReadOnlySpan<byte> NotTracking =>
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"u8;

    private static ReadOnlySpan<byte> SwitchesOption =>
        "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it "u8
        + "with a different mode."u8;

    private static ReadOnlySpan<byte> SwitchesBroadcast =>
        "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it "u8
        + "with a different mode."u8;

    public static void Caching(ref CommandContext context)
    {
        ref var args = ref context.Args;
        var tracking = context.Session.Tracking;
        if (tracking == null) args.Fail(NotTracking);
        else if (args.TryKeyword("YES"u8)) Require(ref args, tracking, TrackingModes.OptIn, "YES", "OPTIN");
        else if (args.TryKeyword("NO"u8)) Require(ref args, tracking, TrackingModes.OptOut, "NO", "OPTOUT");
        if (!args.Finish(context.Reply)) return;
        tracking!.Except();
        context.Reply.WriteOk();

        static void Require(ref CommandArguments args, ClientTracking tracking, TrackingModes mode, string word,
            string option)
        {
            if ((tracking.Modes & mode) == 0)
                args.Fail(System.Text.Encoding.ASCII.GetBytes(
                    $"ERR CLIENT CACHING {word} is only valid when tracking is enabled in {option} mode."));
        }
    }

    public static void GetRedir(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteInteger(context.Session.Tracking?.RedirectId ?? -1);
    }

    public static void Tracking(ref CommandContext context)
    {
        ref var args = ref context.Args;
        args.RequireAtMost(3 * PrefixesMax, "arguments for CLIENT TRACKING");
        bool isOn = args.TryKeyword("ON"u8), isKnown = isOn || args.TryKeyword("OFF"u8);
        if (!isKnown) args.Skip(1);
        var wanted = new Wanted { Prefixes = [] };
        while (args.Remaining > 0) ReadOption(ref context, ref wanted);
        // As in Redis, what is wrong with an option is said first.
        if (!isKnown) args.SyntaxError();
        if (isOn && !args.Failed) Check(ref args, context.Session, wanted);
        if (!args.Finish(context.Reply)) return;

        if (isOn) Begin(ref context, wanted);
        else context.Server.Tracking.End(context.Session);
        context.Reply.WriteOk();
    }

    public static void TrackingInfo(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var reply = context.Reply;
        var tracking = context.Session.Tracking;
        var modes = tracking?.Modes ?? TrackingModes.None;
        List<string> flags = [tracking == null ? "off" : "on"];
        if ((modes & TrackingModes.Broadcast) != 0) flags.Add("bcast");
        if ((modes & TrackingModes.OptIn) != 0) flags.Add("optin");
        if ((modes & TrackingModes.OptIn) != 0 && tracking!.IsException) flags.Add("caching-yes");
        if ((modes & TrackingModes.OptOut) != 0) flags.Add("optout");
        if ((modes & TrackingModes.OptOut) != 0 && tracking!.IsException) flags.Add("caching-no");
        if ((modes & TrackingModes.NoLoop) != 0) flags.Add("noloop");
        if (tracking is { IsBroken: true }) flags.Add("broken_redirect");
        reply.WriteMap(3);
        reply.WriteBulk("flags"u8);
        reply.WriteSet(flags.Count);
        foreach (string flag in flags) reply.WriteBulk(System.Text.Encoding.ASCII.GetBytes(flag));
        reply.WriteBulk("redirect"u8);
        reply.WriteInteger(tracking?.RedirectId ?? -1);
        reply.WriteBulk("prefixes"u8);
        reply.WriteArray(tracking?.Prefixes.Count ?? 0);
        foreach (byte[] prefix in tracking?.Prefixes ?? []) reply.WriteBulk(prefix);
    }

    private static void ReadOption(ref CommandContext context, ref Wanted wanted)
    {
        ref var args = ref context.Args;
        bool hasMore = args.Remaining > 1;
        if (hasMore && args.TryKeyword("REDIRECT"u8))
        {
            if (wanted.RedirectId != 0) args.Fail("ERR A client can only redirect to a single other client"u8);
            wanted.RedirectId = args.NextInt64();
            if (!args.Failed && !context.Server.Connections.TryGet(wanted.RedirectId, out _))
                args.Fail("ERR The client ID you want redirect to does not exist"u8);
        }
        else if (args.TryKeyword("BCAST"u8)) wanted.Modes |= TrackingModes.Broadcast;
        else if (args.TryKeyword("OPTIN"u8)) wanted.Modes |= TrackingModes.OptIn;
        else if (args.TryKeyword("OPTOUT"u8)) wanted.Modes |= TrackingModes.OptOut;
        else if (args.TryKeyword("NOLOOP"u8)) wanted.Modes |= TrackingModes.NoLoop;
        else if (hasMore && args.TryKeyword("PREFIX"u8)) wanted.Prefixes.Add(args.NextBytes().ToArray());
        else args.SyntaxError();
    }

    /// <summary>Whether the options go together, and with what the client does now.</summary>
    private static void Check(ref CommandArguments args, Session session, in Wanted wanted)
    {
        const TrackingModes both = TrackingModes.OptIn | TrackingModes.OptOut;
        var modes = wanted.Modes;
        bool isBroadcast = (modes & TrackingModes.Broadcast) != 0;
        if (!isBroadcast && wanted.Prefixes.Count > 0)
            args.Fail("ERR PREFIX option requires BCAST mode to be enabled"u8);
        if (session.Tracking is { } now && now.IsBroadcast != isBroadcast) args.Fail(SwitchesBroadcast);
        if (isBroadcast && (modes & both) != 0) args.Fail("ERR OPTIN and OPTOUT are not compatible with BCAST"u8);
        if ((modes & both) == both) args.Fail("ERR You can't specify both OPTIN mode and OPTOUT mode"u8);
        // OPTIN or OPTOUT may be left out, but not exchanged.
        if (((session.Tracking?.Modes | modes) & both) == both && (modes & both) != 0) args.Fail(SwitchesOption);
        if (isBroadcast && !args.Failed) CheckPrefixes(ref args, session, wanted.Prefixes);
    }

    private static void CheckPrefixes(ref CommandArguments args, Session session, List<byte[]> prefixes)
    {
        var present = session.Tracking?.Prefixes ?? [];
        args.RequireAtMost((long)present.Count + prefixes.Count, PrefixesMax, "prefixes of a client");
        for (int i = 0; i < prefixes.Count && !args.Failed; i++)
        {
            foreach (byte[] one in present)
                if (Overlap(one, prefixes[i])) Fail(ref args, prefixes[i], "an existing"u8, one);
            for (int j = i + 1; j < prefixes.Count; j++)
                if (Overlap(prefixes[i], prefixes[j])) Fail(ref args, prefixes[i], "another provided"u8, prefixes[j]);
        }

        static void Fail(ref CommandArguments args, byte[] prefix, ReadOnlySpan<byte> what, byte[] other)
        {
            if (args.Failed) return;
            args.Fail((byte[])[.. "ERR Prefix '"u8, .. prefix, .. "' overlaps with "u8, .. what, .. " prefix '"u8,
                .. other, .. "'. Prefixes for a single client must not overlap."u8]);
        }
    }

    private static bool Overlap(ReadOnlySpan<byte> a, ReadOnlySpan<byte> b) => a.StartsWith(b) || b.StartsWith(a);

    private static void Begin(ref CommandContext context, in Wanted wanted)
    {
        var (server, session) = (context.Server, context.Session);
        var prefixes = wanted.Prefixes;
        Debug.Assert(prefixes.Count == 0 || (wanted.Modes & TrackingModes.Broadcast) != 0,
            "prefixes are for those who broadcast");
        // Without a prefix it is all keys; beside other prefixes, too, as in Redis.
        bool isOfAll = (wanted.Modes & TrackingModes.Broadcast) != 0 && prefixes.Count == 0
            && session.Tracking?.Prefixes is not [{ Length: 0 }, ..];
        if (isOfAll) prefixes.Add([]);
        server.Tracking.Begin(session, wanted.Modes, wanted.RedirectId, prefixes);
        // While nobody tracked, nobody asked whose turn it is: NOLOOP holds for what comes in this very turn. This
        // command is never a lent session's, so the turn's end takes it back.
        var writer = server.Tracking.WriterOf(context.Store.Slot);
        if (writer.Author == null) writer.Begin(session);
    }

    /// <summary>What CLIENT TRACKING was called with.</summary>
    private struct Wanted
    {
        public TrackingModes Modes;
        public long RedirectId;
        public required List<byte[]> Prefixes;
    }
}
