using System.Diagnostics;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>How many connections the process' limit of open files leaves room for.</summary>
/// <remarks>
/// Without a descriptor the runtime cannot start a thread (each opens a pipe to begin), and ends the process. So
/// clients never get the last descriptors: their number is bounded by what was open at the start and a margin, and a
/// connection whose own number is too high is refused whatever the counts say. The system gives the lowest free number:
/// one at or above <see cref="NumberMax"/> means that less than half of the margin is left, and that somebody other
/// than our clients has taken the other half.
/// The runtime has raised the soft limit to the hard one before any code of ours runs.
/// Threads: any; nothing changes after the start.
/// </remarks>
public sealed class DescriptorLimit
{
    /// <summary>What the program needs before it can count; measured: it dies with 80, runs with 90.</summary>
    private const int StartMin = 96, StartAdvice = 128;

    /// <summary>Loading an assembly takes two descriptors for good: eight assemblies until the first client, five more
    /// for a stack trace. A thread of the pool, the tiered compiler or a timer takes two while it starts, INFO and
    /// CONFIG REWRITE one.</summary>
    private const int RuntimeMargin = 48;

    /// <summary>A worker's epoll and bell, and two for its thread's pipe while that starts, or for a connection that is
    /// counted as closed and is not yet.</summary>
    private const int WorkerMargin = 4;

    /// <summary>What is open, where it cannot be counted.</summary>
    private const int OpenAssumed = 128;

    private readonly long _limit, _open, _margin;

    /// <param name="limit">Descriptors that the process may have.</param>
    /// <param name="open">Descriptors that it has.</param>
    /// <param name="workers">Threads that serve clients and are yet to be started.</param>
    /// <param name="listeners">Sockets that listen and are yet to be opened.</param>
    internal DescriptorLimit(long limit, long open, int workers, int listeners)
    {
        _limit = limit;
        _open = open;
        _margin = RuntimeMargin + (WorkerMargin * (long)workers) + listeners;
        SocketsMax = (int)Math.Clamp(limit - open - _margin, 0, int.MaxValue);
        NumberMax = (int)Math.Clamp(limit - (_margin / 2), 0, int.MaxValue);
        ClientsMax = Math.Max(SocketsMax - (2 * Admission.ReservedMax), (int)(SocketsMax * 5L / 6));
        Debug.Assert(ClientsMax + (2 * Admission.ReservedPlaces(ClientsMax)) <= SocketsMax, "all places have a socket");
    }

    /// <summary>All sockets of clients: those served, those in places kept for administrators, those turned
    /// away.</summary>
    internal int SocketsMax { get; }

    /// <summary>Clients that fit beside the places kept for administrators and as many turned away from those places:
    /// n + 2 min(32, n / 10) is at most <see cref="SocketsMax"/>.</summary>
    internal int ClientsMax { get; }

    /// <summary>A descriptor with this number or a higher one belongs to the margin.</summary>
    internal int NumberMax { get; }

    /// <summary>Counts the open files of this process.</summary>
    /// <exception cref="IOException">There is room for no client. The message says what is needed.</exception>
    internal static DescriptorLimit Measure(int workers, int listeners)
    {
        if (!OperatingSystem.IsLinux()) return new DescriptorLimit(int.MaxValue, OpenAssumed, workers, listeners);
        var limit = new DescriptorLimit(ReadLimit(), CountOpen(), workers, listeners);
        if (limit.ClientsMax < 1) throw new IOException(TooFew(limit._limit, limit._open + limit._margin + 2));
        return limit;
    }

    /// <summary>Whether a program can start a server at all. Ask this first: with too few files even loading the
    /// assemblies for the rest fails.</summary>
    /// <returns>What is wrong, or null.</returns>
    public static string? WhyNotStart()
    {
        if (!OperatingSystem.IsLinux()) return null;
        long limit = ReadLimit();
        return limit < StartMin ? TooFew(limit, StartAdvice) : null;
    }

    /// <summary>Logs how many clients there can be, if those are fewer than maxclients.</summary>
    internal void Report(ILogger log, int maxClients)
    {
        if (ClientsMax >= maxClients) return;
        log.LogWarning(
            "maxclients is {Effective}, not {Wanted}: of {Limit} files that the process may open, {Open} were open at "
            + "the start and {Margin} stay in reserve (raise ulimit -n)",
            ClientsMax, maxClients, _limit, _open, _margin);
    }

    private static string TooFew(long limit, long needed) =>
        $"The process may open {limit} files, and needs at least {needed}: raise the limit (ulimit -n, LimitNOFILE of "
        + $"systemd)";

    private static unsafe long ReadLimit()
    {
        ulong* limits = stackalloc ulong[2];
        return Libc.getrlimit(Libc.RlimitNoFile, limits) != 0 || limits[0] > int.MaxValue
            ? int.MaxValue : (long)limits[0];
    }

    private static long CountOpen()
    {
        try
        {
            return Directory.GetFileSystemEntries("/proc/self/fd").Length;      // the directory itself is one of them
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return OpenAssumed;
        }
    }
}
