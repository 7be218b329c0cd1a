using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

[assembly: DisableRuntimeMarshalling]

namespace RespBenchmark.Network;

/// <summary>The system calls of event loops. Plain blittable signatures; the error number is read right after a failed
/// call.</summary>
internal static unsafe partial class Libc
{
    public const uint EpollIn = 0x1, EpollOut = 0x4, EpollErr = 0x8, EpollHup = 0x10;
    public const int EpollAdd = 1, EpollDelete = 2, EpollModify = 3;
    public const int MsgNoSignal = 0x4000, MsgDontWait = 0x40;
    public const int SockStream = 1, SockNonBlock = 0x800, SockCloseOnExec = 0x80000;
    public const int EpollCloseOnExec = 0x80000, EventNonBlock = 0x800, EventCloseOnExec = 0x80000;
    public const int EIntr = 4, EAgain = 11, EConnReset = 104, ENoSys = 38, EInProgress = 115;

    [LibraryImport("libc", SetLastError = true)] public static partial int epoll_create1(int flags);
    [LibraryImport("libc", SetLastError = true)] public static partial int epoll_ctl(
        int epoll, int operation, int descriptor, void* change);
    [LibraryImport("libc", SetLastError = true)] public static partial int epoll_wait(
        int epoll, void* events, int count, int milliseconds);
    [LibraryImport("libc", SetLastError = true)] public static partial int epoll_pwait2(
        int epoll, void* events, int count, TimeSpec* timeout, void* signals);
    [LibraryImport("libc", SetLastError = true)] public static partial int eventfd(uint initial, int flags);
    [LibraryImport("libc", SetLastError = true)] public static partial nint read(
        int descriptor, void* bytes, nuint count);
    [LibraryImport("libc", SetLastError = true)] public static partial nint write(
        int descriptor, void* bytes, nuint count);
    [LibraryImport("libc", SetLastError = true)] public static partial nint recv(
        int descriptor, void* bytes, nuint count, int flags);
    [LibraryImport("libc", SetLastError = true)] public static partial nint send(
        int descriptor, void* bytes, nuint count, int flags);

    // With MSG_DONTWAIT only: they never sleep, so the collector may as well wait for them, and a call costs no more
    // than in C (at 50 sessions of depth 1, 2 % of a core). The error number is still the call's: nothing of the
    // runtime runs between.
    [LibraryImport("libc", EntryPoint = "recv"), SuppressGCTransition] public static partial nint ReceiveNow(
        int descriptor, void* bytes, nuint count, int flags);
    [LibraryImport("libc", EntryPoint = "send"), SuppressGCTransition] public static partial nint SendNow(
        int descriptor, void* bytes, nuint count, int flags);

    [LibraryImport("libc", SetLastError = true)] public static partial int close(int descriptor);
    [LibraryImport("libc", SetLastError = true)] public static partial int socket(int family, int type, int protocol);
    [LibraryImport("libc", SetLastError = true)] public static partial int connect(int descriptor, void* address,
        uint bytes);
    [LibraryImport("libc", SetLastError = true)] public static partial int bind(int descriptor, void* address,
        uint bytes);
    [LibraryImport("libc", SetLastError = true)] public static partial int setsockopt(
        int descriptor, int level, int option, void* value, uint bytes);
    [LibraryImport("libc", SetLastError = true)] public static partial int prctl(int option, nuint value, nuint a,
        nuint b, nuint c);
    [LibraryImport("libc", SetLastError = true)] public static partial int sched_setaffinity(
        int thread, nuint bytes, void* mask);
    [LibraryImport("libc", SetLastError = true)] public static partial int sched_getaffinity(
        int thread, nuint bytes, void* mask);

    /// <summary>Tells an epoll about a descriptor.</summary>
    /// <returns>False with the error number set.</returns>
    public static bool Control(int epoll, int operation, int descriptor, uint events, ulong data)
    {
        var change = default(EpollEvent);
        change.Set(events, data);
        return epoll_ctl(epoll, operation, descriptor, &change) == 0;
    }

    //  x86:      | events 4 | data 8 |              12 bytes
    //  others:   | events 4 | (4) | data 8 |        16 bytes

    /// <summary>An event's bytes as this processor's kernel lays them out; index events with
    /// <see cref="EventBytes"/>.</summary>
    [StructLayout(LayoutKind.Sequential, Size = 16)]
    public struct EpollEvent
    {
        private fixed byte _bytes[16];

        public void Set(uint events, ulong data)
        {
            fixed (byte* bytes = _bytes)
            {
                *(uint*)bytes = events;
                Unsafe.WriteUnaligned(bytes + DataOffset, data);
            }
        }
    }

    private static int DataOffset =>
        RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.X86 ? 4 : 8;

    public static int EventBytes => DataOffset + 8;

    public static uint EventsOf(byte* events, int index) => *(uint*)(events + (index * EventBytes));

    public static ulong DataOf(byte* events, int index) =>
        Unsafe.ReadUnaligned<ulong>(events + (index * EventBytes) + DataOffset);

    public struct TimeSpec
    {
        public long Seconds, Nanoseconds;
    }
}
