using System.Text;
using Kv.Server.Dispatch;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>Who may connect.</summary>
internal static class Admission
{
    /// <summary>Why a new client is refused.</summary>
    /// <param name="isLocal">It comes from a loopback address, or by a unix socket.</param>
    /// <returns>A whole error reply, or null when it is welcome.</returns>
    public static byte[]? Refusal(KvServer server, bool isLocal)
    {
        var options = server.Options;
        if (server.Connections.Count >= server.MaxClients)
        {
            server.Connections.CountRejected();
            server.Log.LogDebug("A client was refused: maxclients reached");
            return Frame(Errors.MaxClients);
        }

        return options.ProtectedMode && options.RequirePass.Length == 0 && !isLocal ? Frame(Errors.ProtectedMode) : null;
    }

    private static byte[] Frame(ReadOnlySpan<byte> error) => Encoding.Latin1.GetBytes($"-{Encoding.Latin1.GetString(error)}\r\n");
}
