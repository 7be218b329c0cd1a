using System.Globalization;
using System.Text;
using Kv.Protocol;

namespace Kv.Server.Sessions;

/// <summary>A connection as CLIENT LIST and CLIENT INFO describe it, in one line: "name=value" fields with spaces
/// between.</summary>
/// <remarks>Threads: any. The fields are read while the session's own thread changes them: each is some recent value.
/// Fields that mean nothing here are written as 0, since tools read lines by position: a client has no reply buffer of
/// its own (rbs, rbp, obl); its worker's is used, and what the system does not take waits in pieces (oll,
/// omem).</remarks>
internal static class ClientLine
{
    public static void Append(StringBuilder text, Session session)
    {
        long idle = Math.Max(0, session.Server.TickMs - session.LastActiveTickMs) / 1000;
        long waiting = session.OutputMemoryBytes, arguments = session.ArgumentBytes;
        var subscriptions = session.Subscriptions;
        // May be null in MULTI, too: while EXEC goes on in steps, or just after MULTI.
        var transaction = session.Transaction;
        long queued = transaction?.QueuedBytes ?? 0;
        text.Append(CultureInfo.InvariantCulture,
            $"id={session.Id} addr={session.Address} laddr={session.LocalAddress}")
            .Append(CultureInfo.InvariantCulture, $" fd={session.Descriptor} name={Text(session.Name)}")
            .Append(CultureInfo.InvariantCulture,
                $" age={AgeSeconds(session)} idle={idle} flags={Flags(session)} db={session.Database}")
            .Append(CultureInfo.InvariantCulture,
                $" sub={subscriptions?.Channels.Count ?? 0} psub={subscriptions?.Patterns.Count ?? 0}")
            .Append(CultureInfo.InvariantCulture,
                $" ssub={subscriptions?.ShardChannels.Count ?? 0} "
                + $"multi={(session.InMulti ? transaction?.QueuedCount ?? 0 : -1)} "
                + $"watch={transaction?.Watches.Count ?? 0}")
            .Append(CultureInfo.InvariantCulture,
                $" qbuf={session.QueryBytes} qbuf-free={session.QueryFreeBytes} argv-mem={arguments} "
                + $"multi-mem={queued} rbs=0 rbp=0")
            .Append(CultureInfo.InvariantCulture, $" obl=0 oll={session.OutputPieces} omem={waiting}")
            .Append(CultureInfo.InvariantCulture,
                $" tot-mem={session.MemoryBytes} "
                + $"events=r")
            .Append(CultureInfo.InvariantCulture,
                $" cmd={session.LastCommand?.FullName ?? "NULL"} user={session.User.Name}")
            .Append(CultureInfo.InvariantCulture, $" redir={session.Tracking?.RedirectId ?? -1}")
            .Append(CultureInfo.InvariantCulture, $" resp={(session.Version == RespVersion.Resp3 ? 3 : 2)}")
            .Append(CultureInfo.InvariantCulture,
                $" lib-name={Text(session.LibName)} lib-ver={Text(session.LibVersion)}\n");
    }

    public static long AgeSeconds(Session session) => (session.Server.TickMs - session.CreatedTickMs) / 1000;

    // ClientText allowed printable ASCII only.
    private static string Text(byte[]? text) => text == null ? "" : Encoding.ASCII.GetString(text);

    private static string Flags(Session session)
    {
        Span<char> flags = stackalloc char[16];
        int count = 0;
        if (session.Monitoring != null) flags[count++] = 'O';
        if (session.Kind == ClientKind.Replica) flags[count++] = 'S';
        if (session.Kind == ClientKind.Primary) flags[count++] = 'M';
        if (session.Kind == ClientKind.PubSub) flags[count++] = 'P';
        if (session.InMulti) flags[count++] = 'x';
        if (session.IsBlocked || session.Held != null) flags[count++] = 'b';
        if (session.Tracking is { } tracking)
        {
            flags[count++] = 't';
            if (tracking.IsBroken) flags[count++] = 'R';
            if (tracking.IsBroadcast) flags[count++] = 'B';
        }

        if (session.Transaction is { Watches.HaveChanged: true }) flags[count++] = 'd';
        if (session.CloseAfterReply) flags[count++] = 'c';
        if (session.IsKilled) flags[count++] = 'A';
        if (session.LocalAddress.StartsWith('/')) flags[count++] = 'U';
        if (session.NoEvict) flags[count++] = 'e';
        if (session.NoTouch) flags[count++] = 'T';
        return count == 0 ? "N" : flags[..count].ToString();
    }
}
