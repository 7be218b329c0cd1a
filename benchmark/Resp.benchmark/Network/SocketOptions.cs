namespace RespBenchmark.Network;

/// <summary>Options of sockets that the loops set by their descriptor.</summary>
internal static unsafe class SocketOptions
{
    private const int LevelSocket = 1, ReceiveTimeout = 20, LevelTcp = 6, NoDelay = 1;

    /// <summary>A blocking receive then ends with EAGAIN after so long.</summary>
    public static void SetReceiveTimeout(int descriptor, long nanoseconds)
    {
        long* time = stackalloc long[2];        // struct timeval: seconds, microseconds
        time[0] = nanoseconds / 1_000_000_000;
        time[1] = nanoseconds % 1_000_000_000 / 1000;
        Libc.setsockopt(descriptor, LevelSocket, ReceiveTimeout, time, 16);
    }

    public static void SetNoDelay(int descriptor)
    {
        int one = 1;
        Libc.setsockopt(descriptor, LevelTcp, NoDelay, &one, 4);
    }
}
