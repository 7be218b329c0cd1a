using System.Runtime.InteropServices;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Engine;

/// <summary>Drives plain sockets from one thread: sends never block, and a loop that cannot send reads. A loop with a
/// single session in closed loop blocks in its receive, which saves a system call a round.</summary>
internal sealed unsafe class EpollLoop : Loop
{
    private const int ReceiveBytes = 256 * 1024, EventsMax = 256;

    /// <summary>Images that one session may send before the others are looked at.</summary>
    private const int ImagesPerTurn = 8;

    /// <summary>No wait is longer than this, so that the end of a phase is noticed.</summary>
    private const long WaitMax = 50_000_000;

    /// <summary>Before a send nearer than this the loop spins: a sleep would wake too late.</summary>
    private const long SpinBelow = 50_000;

    /// <summary>A sender so late lets one session send all that is due in one system call, which costs as much as ten
    /// operations: else what is due while it sends makes it later and later.</summary>
    private const long LateFrom = 20_000;

    private const int BytesOfOneReading = 1024;

    /// <summary>Data of the event that only wakes.</summary>
    private const ulong WakeEvent = ulong.MaxValue;

    private readonly int _epoll, _wake;
    private readonly byte* _buffer, _events;
    private readonly bool _mayBlock;
    private readonly Reconnector? _reconnector;
    private int _open, _turn;
    private long _woke;

    public EpollLoop(CellPlan plan, RunControl control, int number, int loops, Dialer dialer)
        : base(plan, control, number, loops)
    {
        _epoll = Libc.epoll_create1(Libc.EpollCloseOnExec);
        _wake = Libc.eventfd(0, Libc.EventNonBlock | Libc.EventCloseOnExec);
        if (_epoll < 0 || _wake < 0) throw new ConnectException(plan.Target.Address, "no epoll");
        Libc.Control(_epoll, Libc.EpollAdd, _wake, Libc.EpollIn, WakeEvent);
        _buffer = (byte*)NativeMemory.Alloc(ReceiveBytes + ReplyFramer.LineBytesMax + 64);
        _events = (byte*)NativeMemory.Alloc(EventsMax, (nuint)Libc.EventBytes);
        _mayBlock = plan.Model != SessionModel.Epoll && plan.Arrivals is null && !plan.Flood && !plan.Reconnect;
        if (plan.Reconnect) _reconnector = new Reconnector(plan.Target, dialer);
    }

    public override void Wake()
    {
        ulong one = 1;
        Libc.write(_wake, &one, 8);
    }

    public override void Dispose()
    {
        base.Dispose();
        Libc.close(_epoll);
        Libc.close(_wake);
        NativeMemory.Free(_buffer);
        NativeMemory.Free(_events);
    }

    protected override void Adopt(Session session)
    {
        // A blocking receive gives up from time to time, to look at what is asked of the loop.
        SocketOptions.SetReceiveTimeout(session.Descriptor, WaitMax);
        Libc.Control(_epoll, Libc.EpollAdd, session.Descriptor, Libc.EpollIn, (ulong)session.Index);
        _open++;
        if (IsDriving && Arrivals is null) Fill(session);
    }

    protected override void Release(Session session)
    {
        _open--;
        CloseDescriptor(session);
    }

    protected override void Drive()
    {
        if (Arrivals is not null) PreciseWait.Prepare();
        _woke = Clock.Now;
        for (int index = 0; index < Sessions.Count && Arrivals is null; index++) Fill(Sessions[index]);
        // Ends: sending ends by time, count or request, and what is outstanding is waited for a bounded time.
        while (!HasNothingLeft)
        {
            if (HasRequest) Obey();
            bool late = Arrivals is not null && !SendingEnded && !SendDue();
            bool gaveUp = _mayBlock && _open == 1 && TryReceiveBlocking() is { } now
                ? !Watch(now) : !Watch(WaitForEvents(late));
            if (!gaveUp) continue;
            GiveUp();
            return;
        }

        Recorder.Busy += Clock.Now - _woke;
    }

    /// <summary>The one session's round: receive, read, send.</summary>
    /// <returns>The time of the receive; null: it has something unsent, so both directions must be watched.</returns>
    private long? TryReceiveBlocking()
    {
        Session? session = null;
        for (int index = 0; index < Sessions.Count && session is null; index++)
        {
            if (!Sessions[index].IsClosed) session = Sessions[index];
        }

        if (session is null || session.UnsentCount > 0 || session.WatchesWrite || session.Inflight.Commands == 0)
            return null;
        Receive(session, flags: 0);
        return _woke;
    }

    private long WaitForEvents(bool blocked)
    {
        long now = Clock.Now;
        Recorder.Busy += now - _woke;
        int count = Poll(now, blocked);
        _woke = Clock.Now;
        for (int index = 0; index < count; index++)
        {
            ulong data = Libc.DataOf(_events, index);
            if (data == WakeEvent)
            {
                ulong ignored;
                Libc.read(_wake, &ignored, 8);
                continue;
            }

            Session session = Sessions[(int)data];
            if (session.IsClosed) continue;
            uint events = Libc.EventsOf(_events, index);
            if ((events & (Libc.EpollIn | Libc.EpollErr | Libc.EpollHup)) != 0 && !session.Connecting)
                Receive(session, Libc.MsgDontWait);
            if (session.IsClosed || (events & ~Libc.EpollIn) == 0) continue;
            if (session.Connecting) Connected(session);
            else if (session.WatchesWrite) Fill(session);
        }

        if (count == 0 && Arrivals is not null) _woke = Clock.Now;      // a spin is no work
        return _woke;
    }

    private int Poll(long now, bool blocked)
    {
        long wait = WaitMax;
        if (Arrivals is not null && !SendingEnded && !blocked)
        {
            wait = Math.Min(WaitMax, Arrivals.Next - now);
            if (wait < SpinBelow) return Libc.epoll_wait(_epoll, _events, EventsMax, 0);
            wait -= SpinBelow;
        }

        return PreciseWait.For(_epoll, _events, EventsMax, Math.Max(0, wait));
    }

    private void Receive(Session session, int flags)
    {
        if (flags == 0) Recorder.Busy += Clock.Now - _woke;
        long now = 0;
        // Ends: a buffer that was not filled means that the kernel has no more, and a filled one is granted once more.
        for (int turn = 0; turn < 2; turn++)
        {
            int carried = session.TakeCarry(new Span<byte>(_buffer, ReplyFramer.LineBytesMax));
            nint received;
            int error = 0;
            if (flags == 0)
            {
                received = Libc.recv(session.Descriptor, _buffer + carried, ReceiveBytes, flags);
                if (received < 0) error = Marshal.GetLastPInvokeError();
            }
            else
            {
                received = Libc.ReceiveNow(session.Descriptor, _buffer + carried, ReceiveBytes, flags);
                if (received < 0) error = Marshal.GetLastSystemError();
            }

            now = Clock.Now;
            if (flags == 0) _woke = now;
            if (received <= 0)
            {
                if (carried > 0) session.KeepCarry(new ReadOnlySpan<byte>(_buffer, carried));
                if (received < 0 && error is Libc.EAgain or Libc.EIntr) return;
                Lost(session, received == 0 ? 0 : error);
                return;
            }

            int total = carried + (int)received;
            int used = Received(session, new ReadOnlySpan<byte>(_buffer, total), (int)received, now);
            if (used < 0) return;
            if (used < total) session.KeepCarry(new ReadOnlySpan<byte>(_buffer + used, total - used));
            // What little was received took no time to read: one reading of the clock does for its send too.
            if (received > BytesOfOneReading) now = 0;
            if (received < ReceiveBytes) break;
            flags = Libc.MsgDontWait;
        }

        if (Arrivals is null && session.UnsentCount == 0 && !session.Connecting) Fill(session, now);
    }

    /// <summary>Sends what the session may send, until the kernel takes no more.</summary>
    /// <param name="now">The time; 0: to be read.</param>
    private void Fill(Session session, long now = 0)
    {
        if (session.IsClosed || session.Connecting || (session.UnsentCount > 0 && !Flush(session))) return;
        for (int image = 0; image < ImagesPerTurn; image++)
        {
            int allowance = Allowance(session);
            if (allowance == 0)
            {
                WatchWrite(session, false);
                return;
            }

            if (_reconnector is not null && session.HasAnswered && Reconnect(session)) return;
            RequestChunk chunk = Source.Render(ref session.Stream, allowance);
            if (!Rendered(session, chunk, now != 0 ? now : Clock.Now)) return;
            now = 0;
            if (!Send(session, chunk.Bytes)) return;
            if (session is { ToSend: 0, IsCut: false } && !Plan.Flood)
            {
                WatchWrite(session, false);
                return;
            }
        }

        WatchWrite(session, true);
    }

    /// <returns>False: not all went out, or the session is gone.</returns>
    private bool Send(Session session, ReadOnlySpan<byte> bytes)
    {
        nint sent;
        fixed (byte* start = bytes) sent =
            Libc.SendNow(session.Descriptor, start, (nuint)bytes.Length, Libc.MsgDontWait | Libc.MsgNoSignal);
        if (sent < 0)
        {
            int error = Marshal.GetLastSystemError();
            if (error is not (Libc.EAgain or Libc.EIntr))
            {
                // What the server had sent before it closed may still be there, an error text say.
                if (session.UnsentCount == 0) session.KeepUnsent(bytes);
                Receive(session, Libc.MsgDontWait);
                if (!session.IsClosed) Lost(session, error);
                return false;
            }

            sent = 0;
        }

        Recorder.BytesOut += sent;
        if (sent == bytes.Length) return true;
        session.KeepUnsent(bytes[(int)sent..]);
        WatchWrite(session, true);
        return false;
    }

    /// <returns>False: something is left.</returns>
    private bool Flush(Session session)
    {
        ReadOnlySpan<byte> bytes = session.Unsent;
        nint sent;
        fixed (byte* start = bytes) sent =
            Libc.SendNow(session.Descriptor, start, (nuint)bytes.Length, Libc.MsgDontWait | Libc.MsgNoSignal);
        if (sent < 0)
        {
            int error = Marshal.GetLastSystemError();
            if (error is not (Libc.EAgain or Libc.EIntr)) Lost(session, error);
            else WatchWrite(session, true);
            return false;
        }

        Recorder.BytesOut += sent;
        session.Sent((int)sent);
        return session.UnsentCount == 0;
    }

    /// <summary>Open loop: sends all that is due, whatever is outstanding.</summary>
    /// <returns>False: something is due that no session may send.</returns>
    private bool SendDue()
    {
        long now = Clock.Now;
        bool sent = false;
        // Ends: each round sends, or leaves; time that passes meanwhile brings work, and the turn is bounded.
        for (int turn = 0; turn < EventsMax && Arrivals!.Next <= now; turn++)
        {
            if (Arrivals.Next >= SendUntil)
            {
                EndSending();
                break;
            }

            Session? session = NextWithRoom();
            if (session is null)
            {
                if (sent) _woke = now;
                return Sessions.TrueForAll(one => one.IsClosed);
            }

            bool isLate = now - Arrivals.Next > LateFrom && !Control.IsLimited && !session.IsCut;
            int allowance = isLate ? Math.Min(Arrivals.CountDue(Math.Min(now, SendUntil - 1)), OpenRoom(session))
                : session.IsCut ? 1 : Claim(1);
            if (allowance == 0) break;
            if (!sent) _woke = now;
            sent = true;
            RequestChunk chunk = Source.Render(ref session.Stream, allowance);
            if (Rendered(session, chunk, now)) Send(session, chunk.Bytes);
            long then = Clock.Now;
            Recorder.Busy += then - _woke;
            _woke = now = then;
        }

        if (Arrivals!.Next >= SendUntil) EndSending();
        return true;
    }

    /// <summary>Commands that a session with room may send: at least one.</summary>
    private int OpenRoom(Session session) =>
        Math.Min(Arrivals!.InflightMax - session.Inflight.Commands,
            (int)Math.Clamp((Plan.InflightBytesMax - session.ExpectedBytes) / LongestReply, 1,
            Engine.Arrivals.AheadMax));

    private Session? NextWithRoom()
    {
        for (int tried = 0; tried < Sessions.Count; tried++)
        {
            if (_turn >= Sessions.Count) _turn = 0;
            Session session = Sessions[_turn];
            if (!session.IsCut) _turn++;
            if (session.IsClosed || session.StreamEnded || session.UnsentCount > 0 || session.Connecting) continue;
            if (session.IsCut) return session;
            if (session.Inflight.Commands < Arrivals!.InflightMax && session.ExpectedBytes < Plan.InflightBytesMax)
                return session;
        }

        return null;
    }

    private void WatchWrite(Session session, bool watch)
    {
        if (session.WatchesWrite == watch) return;
        session.WatchesWrite = watch;
        uint events = Libc.EpollIn | (watch ? Libc.EpollOut : 0);
        Libc.Control(_epoll, Libc.EpollModify, session.Descriptor, events, (ulong)session.Index);
    }

    /// <summary>The connection has ended without our doing.</summary>
    private void Lost(Session session, int error)
    {
        string why = error == 0 ? "the server closed the connection" : Marshal.GetPInvokeErrorMessage(error);
        Close(session, RunEnd.AllDisconnected, why);
    }

    private void CloseDescriptor(Session session)
    {
        if (session.Connection is { } connection)
        {
            connection.Dispose();
            session.Connection = null;
        }
        else if (session.Descriptor >= 0)
        {
            Libc.close(session.Descriptor);
        }

        session.Descriptor = -1;
        session.WatchesWrite = false;
    }

    /// <summary>A new connection for the next request.</summary>
    /// <returns>True: it is being made, or there is none.</returns>
    private bool Reconnect(Session session)
    {
        if (session.Inflight.Commands > 0 || session.IsCut) return false;
        CloseDescriptor(session);
        session.HasAnswered = false;
        session.Restart(_reconnector!.HandshakeReplies);
        int error = _reconnector.Open(out int descriptor);
        session.Descriptor = descriptor;
        if (error != 0)
        {
            Lost(session, error);
            return true;
        }

        session.Connecting = session.WatchesWrite = true;
        Libc.Control(_epoll, Libc.EpollAdd, descriptor, Libc.EpollIn | Libc.EpollOut, (ulong)session.Index);
        return true;
    }

    private void Connected(Session session)
    {
        session.Connecting = false;
        ReadOnlySpan<byte> handshake = _reconnector!.Handshake;
        if (!handshake.IsEmpty && !Send(session, handshake)) return;
        Fill(session);
    }
}
