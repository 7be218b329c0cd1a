using System.Text;
using Kv.Server.Execution;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Sessions;

/// <summary>Who may connect, and who may stay when there are more than maxclients.</summary>
/// <remarks>
/// Past maxclients, min(32, maxclients / 10) further places are kept for whoever looks after the server: a client from
/// this machine gets one, and may use the commands that administration takes (<see cref="IsAdministrative"/>). With any
/// other command it is turned away like all others, so that applications on this machine do not use the places up.
/// A client that was turned away keeps its place and its descriptor until it has closed its side, too ("lingering").
/// So that such clients cannot keep an administrator out, up to as many of them as there are kept places do not count
/// when a kept place is given.
/// Threads: any; two that are admitted at once may both get the last place.
/// </remarks>
internal static class Admission
{
    internal const int ReservedMax = 32;

    /// <summary>Places beyond maxclients.</summary>
    public static int ReservedPlaces(int maxClients) => Math.Min(ReservedMax, maxClients / 10);

    /// <summary>Why a new client is refused.</summary>
    /// <param name="descriptor">The number of the client's socket; <see cref="Session.NoDescriptor"/> for a client
    /// within the process, whom only maxclients bounds.</param>
    /// <param name="isLocal">Whether the client comes from a loopback address or through a unix socket.</param>
    /// <param name="isReserved">Whether the client gets a place kept for administrators.</param>
    /// <returns>A whole error reply, or null when the client may connect.</returns>
    public static byte[]? Refusal(KvServer server, int descriptor, bool isLocal, out bool isReserved)
    {
        var options = server.Options;
        int lingering = server.Connections.Lingering;
        int free = options.MaxClients - server.Connections.Count - lingering;
        bool hasNumber = true;
        if (descriptor >= 0)
        {
            free = Math.Min(free, server.Descriptors.ClientsMax - server.Connections.Descriptors - lingering);
            hasNumber = descriptor < server.Descriptors.NumberMax;
        }

        int reserved = ReservedPlaces(server.MaxClients);
        isReserved = free <= 0 && isLocal && free > -2 * reserved && free + lingering > -reserved;
        if (!hasNumber || (free <= 0 && !isReserved))
        {
            CountMaxClients(server);
            return Frame(Errors.MaxClients);
        }

        if (!server.IsProtected || isLocal) return null;
        if (server.Connections.CountRejected(server.TickMs))
            server.Log.LogWarning("Clients of other machines are refused: protected mode ({Rejected} refused so far)",
                server.Connections.Rejected);
        return Frame(Errors.ProtectedMode);
    }

    /// <summary>Whether a client in a kept place is turned away because of a command. Once enough others have left, its
    /// place is an ordinary one.</summary>
    public static bool IsTurnedAway(KvServer server, Sessions.Session session, Command command)
    {
        if (IsAdministrative(command)) return false;
        if (server.Connections.Count <= server.MaxClients)
        {
            session.IsReserved = false;
            return false;
        }

        CountMaxClients(server);
        session.CloseAfterReply = true;
        return true;
    }

    /// <summary>Commands that show and change the server and its clients, and those with which a client introduces
    /// itself.</summary>
    private static bool IsAdministrative(Command command) =>
        (command.Flags & (CommandFlags.Admin | CommandFlags.NoAuth)) != 0
        || (command.Container ?? command).Name is "CLIENT" or "COMMAND" or "INFO";

    /// <summary>The reply to a client that was accepted with the last descriptor.</summary>
    public static byte[] RefuseForDescriptors(KvServer server)
    {
        CountMaxClients(server);
        return Frame(Errors.MaxClients);
    }

    private static void CountMaxClients(KvServer server)
    {
        if (server.Connections.CountRejected(server.TickMs))
            server.Log.LogWarning("Clients are refused: maxclients of {Most} reached ({Rejected} refused so far)",
                server.MaxClients, server.Connections.Rejected);
    }

    private static byte[] Frame(ReadOnlySpan<byte> error) =>
        Encoding.Latin1.GetBytes($"-{Encoding.Latin1.GetString(error)}\r\n");
}
