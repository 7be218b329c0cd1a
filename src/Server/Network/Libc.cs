using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

[assembly: DisableRuntimeMarshalling]

namespace Kv.Server.Network;

/// <summary>The system calls of the epoll transport. Plain blittable signatures; the error number is read right after a
/// failed call.</summary>
internal static unsafe partial class Libc
{
    public const uint EpollIn = 0x1, EpollOut = 0x4, EpollErr = 0x8, EpollHup = 0x10, EpollRdHup = 0x2000,
        EpollEdge = 0x80000000;
    public const int EpollAdd = 1, EpollDelete = 2, EpollModify = 3;
    public const int MsgPeek = 0x2, MsgNoSignal = 0x4000, MsgMore = 0x8000;
    public const int SockNonBlock = 0x800, SockCloseOnExec = 0x80000;
    public const int EpollCloseOnExec = 0x80000, EventNonBlock = 0x800, EventCloseOnExec = 0x80000;
    public const int ShutWrite = 1, ShutBoth = 2;
    public const int SolSocket = 1, SoKeepAlive = 9, SoReceiveLowAt = 18, IpprotoTcp = 6, TcpNoDelay = 1,
        TcpKeepIdle = 4, TcpKeepInterval = 5, TcpKeepCount = 6;
    public const int RlimitNoFile = 7;
    public const int EIntr = 4, EAgain = 11, ENFile = 23, EMFile = 24, ENoBufs = 105, ENoMem = 12;

    [LibraryImport("libc")] public static partial int epoll_create1(int flags);
    [LibraryImport("libc")] public static partial int epoll_ctl(int epoll, int operation, int descriptor,
        EpollEvent* change);
    [LibraryImport("libc")] public static partial int epoll_wait(int epoll, void* events, int count, int milliseconds);
    [LibraryImport("libc")] public static partial int eventfd(uint initial, int flags);
    [LibraryImport("libc")] public static partial nint read(int descriptor, void* bytes, nuint count);
    [LibraryImport("libc")] public static partial nint write(int descriptor, void* bytes, nuint count);
    [LibraryImport("libc")] public static partial nint recv(int descriptor, void* bytes, nuint count, int flags);
    [LibraryImport("libc")] public static partial nint send(int descriptor, void* bytes, nuint count, int flags);
    [LibraryImport("libc")] public static partial nint readv(int descriptor, IoVector* parts, int count);
    [LibraryImport("libc")] public static partial nint sendmsg(int descriptor, MessageHeader* message, int flags);
    [LibraryImport("libc")] public static partial int accept4(int descriptor, void* address,
        int* addressLength, int flags);
    [LibraryImport("libc")] public static partial int getsockname(int descriptor, void* address, int* addressLength);
    [LibraryImport("libc")] public static partial int setsockopt(int descriptor, int level, int name, void* value,
        int length);
    [LibraryImport("libc")] public static partial int shutdown(int descriptor, int how);
    [LibraryImport("libc")] public static partial int close(int descriptor);
    [LibraryImport("libc")] public static partial int umask(int mask);
    [LibraryImport("libc")] public static partial int getrlimit(int resource, ulong* limits);

    public static int LastError => Marshal.GetLastSystemError();

    public static void SetOption(int descriptor, int level, int name, int value) =>
        setsockopt(descriptor, level, name, &value, sizeof(int));

    /// <summary>Sends several parts, one after another, in one call.</summary>
    /// <returns>Bytes sent; below 0 with <see cref="LastError"/> set.</returns>
    public static nint SendParts(int descriptor, IoVector* parts, int count, int flags)
    {
        var message = new MessageHeader { Parts = parts, PartCount = (nuint)count };
        return sendmsg(descriptor, &message, flags);
    }

    /// <summary>Adds a descriptor to an epoll, changes what it is watched for, or removes it.</summary>
    /// <returns>False with <see cref="LastError"/> set.</returns>
    public static bool Control(int epoll, int operation, int descriptor, uint events, ulong data)
    {
        if (RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.X86)
        {
            var packed = new EpollEvent { Events = events, Data = data };
            return epoll_ctl(epoll, operation, descriptor, &packed) == 0;
        }

        var padded = new PaddedEpollEvent { Events = events, Data = data };
        return epoll_ctl(epoll, operation, descriptor, (EpollEvent*)&padded) == 0;
    }

    /// <summary>The kernel's struct epoll_event on x86: 12 bytes.</summary>
    [StructLayout(LayoutKind.Sequential, Pack = 1)]
    public struct EpollEvent
    {
        public uint Events;
        public ulong Data;
    }

    /// <summary>The kernel's struct epoll_event on all other processors: 16 bytes.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct PaddedEpollEvent
    {
        public uint Events;
        public ulong Data;
    }

    /// <summary>The kernel's struct msghdr, of 64 bits. (musl's has a shorter count with zeros after it: the bytes are
    /// the same.)</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct MessageHeader
    {
        public void* Name;
        public ulong NameBytes;
        public IoVector* Parts;
        public nuint PartCount;
        public void* Control;
        public nuint ControlBytes;
        public ulong Flags;
    }
}

/// <summary>The kernel's struct iovec: one part of what is sent in one call.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct IoVector
{
    public byte* Start;
    public nuint Bytes;
}
