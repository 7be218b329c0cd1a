using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>How many connections the process' limit of open files leaves room for.</summary>
/// <remarks>
/// Without a descriptor the runtime cannot start the thread that it wants now (each opens a pipe to begin), and ends
/// the process. So clients never get the last ones: their number is bounded by what was open at the start and a margin,
/// and a connection whose own number is too high is refused whatever the counts say. The system gives the lowest free
/// number: one at or above <see cref="NumberMax"/> means that fewer than half of the margin are left, and somebody else
/// than our clients has taken the other half.
/// The runtime has raised the soft limit to the hard one before any code of ours runs.
/// Threads: any; nothing changes after the start.
/// </remarks>
public sealed class DescriptorLimit
{
    /// <summary>What the program needs before it can count; measured: it dies with 80, runs with 90.</summary>
    private const int StartMin = 96, StartAdvice = 128;

    /// <summary>An assembly that is first needed takes two for good: from here to the first client eight of them, for a
    /// stack trace five more. A thread of the pool, the tiered compiler or a timer takes two while it starts, INFO and
    /// CONFIG REWRITE one.</summary>
    private const int RuntimeMargin = 48;

    /// <summary>An epoll and a bell; a pipe while its thread starts, or a connection that is counted as closed and is
    /// not yet.</summary>
    private const int WorkerMargin = 4;

    /// <summary>Where it cannot be counted.</summary>
    private const int OpenAssumed = 128;

    private readonly long _limit, _open, _margin;

    /// <param name="limit">Descriptors that the process may have.</param>
    /// <param name="open">Those it has.</param>
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
    }

    /// <summary>All sockets of clients: those served, those in places kept for administrators, those that were sent
    /// off.</summary>
    internal int SocketsMax { get; }

    /// <summary>Clients that fit beside the places kept for administrators and as many again that were sent off from
    /// those: n + 2 min(32, n / 10) is at most <see cref="SocketsMax"/>.</summary>
    internal int ClientsMax { get; }

    /// <summary>A descriptor with this number or a higher one belongs to the margin.</summary>
    internal int NumberMax { get; }

    /// <summary>Counts what is open.</summary>
    /// <exception cref="IOException">Not one client fits. The message says what is needed.</exception>
    internal static DescriptorLimit Measure(int workers, int listeners)
    {
        if (!OperatingSystem.IsLinux()) return new DescriptorLimit(int.MaxValue, OpenAssumed, workers, listeners);
        var limit = new DescriptorLimit(ReadLimit(), CountOpen(), workers, listeners);
        if (limit.ClientsMax < 1) throw new IOException(TooFew(limit._limit, limit._open + limit._margin + 2));
        return limit;
    }

    /// <summary>Whether a program can start a server at all. To be asked first of all: with too few files, even loading
    /// what comes after fails.</summary>
    /// <returns>What is wrong, or null.</returns>
    public static string? WhyNotStart()
    {
        if (!OperatingSystem.IsLinux()) return null;
        long limit = ReadLimit();
        return limit < StartMin ? TooFew(limit, StartAdvice) : null;
    }

    /// <summary>Says in the log how many clients there can be when those are fewer than maxclients.</summary>
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
