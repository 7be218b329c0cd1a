using System.Diagnostics;
using Kv.Server.Configuration;

namespace Kv.Server.Sessions;

/// <summary>client-output-buffer-limit, applied to one client.</summary>
internal static class OutputLimits
{
    /// <summary>Whether a client may leave <paramref name="bytes"/> bytes unread.</summary>
    /// <param name="overSince">When the soft limit was passed; 0 while it is not. The caller keeps it between
    /// calls.</param>
    public static bool Allows(this OutputBufferLimits limits, ClientKind kind, long bytes, long nowTickMs,
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
