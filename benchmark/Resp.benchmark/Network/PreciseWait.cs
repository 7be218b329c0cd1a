using System.Runtime.InteropServices;

namespace RespBenchmark.Network;

/// <summary>Waits for events for a time in nanoseconds; on kernels before 5.11 in milliseconds, rounded down.</summary>
internal static unsafe class PreciseWait
{
    private const int SetTimerSlack = 29;

    /// <summary>Lets this thread's waits end when they should: by default the kernel may add 50 us.</summary>
    public static void Prepare() => Libc.prctl(SetTimerSlack, 1, 0, 0, 0);

    /// <returns>Events; 0 when the time passed or a signal came.</returns>
    public static int For(int epoll, void* events, int count, long nanoseconds)
    {
        var time = new Libc.TimeSpec { Seconds = nanoseconds / 1_000_000_000,
            Nanoseconds = nanoseconds % 1_000_000_000 };
        int found = Libc.epoll_pwait2(epoll, events, count, &time, null);
        if (found >= 0) return found;
        return Marshal.GetLastPInvokeError() == Libc.ENoSys
            ? Math.Max(0, Libc.epoll_wait(epoll, events, count, (int)(nanoseconds / 1_000_000))) : 0;
    }
}
