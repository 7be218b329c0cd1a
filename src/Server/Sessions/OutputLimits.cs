using System.Diagnostics;
using Kv.Server.Configuration;

namespace Kv.Server.Sessions;

/// <summary>How much a client may leave unread: client-output-buffer-limit, applied to one client.</summary>
internal static class OutputLimits
{
    /// <summary>Bytes that a client which has not authenticated may leave unread.</summary>
    private const int UnauthenticatedBytes = 1024;

    /// <summary>Whether a client may leave <paramref name="bytes"/> bytes unread. If not, it is to be closed.</summary>
    /// <param name="overSince">When the soft limit was passed; 0 while it is not. The caller keeps it between
    /// calls.</param>
    public static bool Allows(Session session, long bytes, long nowTickMs, ref long overSince)
    {
        if (!session.Authenticated && bytes > UnauthenticatedBytes) return false;
        var limits = session.Server.Options.ClientOutputBufferLimit;
        if (IsWithin(limits, session.OutputKind, bytes, nowTickMs, ref overSince)) return true;
        session.NoteOutputLimit(bytes, nowTickMs);
        return false;
    }

    private static bool IsWithin(OutputBufferLimits limits, ClientKind kind, long bytes, long nowTickMs,
        ref long overSince)
    {
        Debug.Assert(bytes >= 0, "what is unread is counted up before it is counted down");
        var limit = kind switch
        {
            ClientKind.PubSub => limits.PubSub,
            ClientKind.Replica => limits.Replica,
            _ => limits.Normal,
        };
        if (limit.HardBytes > 0 && bytes >= limit.HardBytes) return false;
        if (limit.SoftBytes <= 0 || bytes < limit.SoftBytes)
        {
            overSince = 0;
            return true;
        }

        if (overSince == 0) overSince = Math.Max(nowTickMs, 1);
        return nowTickMs - overSince < limit.SoftSeconds * 1000L;
    }
}
