using System.ComponentModel;
using System.Runtime.InteropServices;

namespace Kv.Server.Network;

/// <summary>One epoll with a bell: waits for descriptors to become ready, or for another thread to ring.</summary>
/// <remarks>Threads: one waits; any rings or changes what is watched. Linux only.</remarks>
internal sealed unsafe class Poller : IDisposable
{
    /// <summary>The data of the bell's events; nobody else may use it.</summary>
    public const ulong Bell = ulong.MaxValue;

    public const int EventsMax = 256;

    private readonly int _epoll;
    private readonly int _bell;
    private readonly bool _packed = RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.X86;
    private readonly byte* _events = (byte*)NativeMemory.AlignedAlloc(EventsMax * 16, 64);

    public Poller()
    {
        _epoll = Libc.epoll_create1(Libc.EpollCloseOnExec);
        if (_epoll < 0) throw new Win32Exception(Libc.LastError, "epoll_create1 failed");
        _bell = Libc.eventfd(0, Libc.EventNonBlock | Libc.EventCloseOnExec);
        if (_bell < 0 || !TryAdd(_bell, Libc.EpollIn, Bell))
        {
            int error = Libc.LastError;
            Dispose();
            throw new Win32Exception(error, "eventfd failed");
        }
    }

    public bool TryAdd(int descriptor, uint events, ulong data) =>
        Libc.Control(_epoll, Libc.EpollAdd, descriptor, events, data);

    public void Change(int descriptor, uint events, ulong data) =>
        Libc.Control(_epoll, Libc.EpollModify, descriptor, events, data);

    public void Remove(int descriptor) => Libc.Control(_epoll, Libc.EpollDelete, descriptor, 0, 0);

    /// <summary>For <see cref="Wait"/>: until there is an event.</summary>
    public const int NoTimeout = -1;

    /// <summary>Waits for events.</summary>
    /// <param name="milliseconds">How long at most: 0 to look only, or <see cref="NoTimeout"/>.</param>
    /// <returns>How many there are; 0 when the time has passed or a signal came.</returns>
    public int Wait(int milliseconds) => Math.Max(Libc.epoll_wait(_epoll, _events, EventsMax, milliseconds), 0);

    public uint EventsOf(int index) =>
        _packed ? ((Libc.EpollEvent*)_events)[index].Events : ((Libc.PaddedEpollEvent*)_events)[index].Events;

    public ulong DataOf(int index) =>
        _packed ? ((Libc.EpollEvent*)_events)[index].Data : ((Libc.PaddedEpollEvent*)_events)[index].Data;

    /// <summary>Ends a wait that is going on, or the next one.</summary>
    public void Ring()
    {
        ulong one = 1;
        // Cannot fail in a way that matters: if the counter is full, the bell has rung already.
        Libc.write(_bell, &one, sizeof(ulong));
    }

    /// <summary>Makes the bell silent again, once its event has been seen.</summary>
    public void Silence()
    {
        ulong count;
        Libc.read(_bell, &count, sizeof(ulong));
    }

    public void Dispose()
    {
        if (_bell >= 0) Libc.close(_bell);
        Libc.close(_epoll);
        NativeMemory.AlignedFree(_events);
    }
}
