using System.Net.Sockets;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Engine;

/// <summary>Drives sessions of any stream (TLS, other systems) with two blocking threads each, a writer and a reader;
/// the loop's own thread only watches the time.</summary>
/// <remarks>Threads: whoever touches a session, the source or the recorder holds <see cref="_lock"/>; sends and
/// receives are made without it.</remarks>
internal sealed class PortableLoop(CellPlan plan, RunControl control, int number, int loops, Dialer dialer)
    : Loop(plan, control, number, loops)
{
    private const int ReceiveBytes = 64 * 1024;
    private const int RoundMs = 10;

    private readonly object _lock = new();
    private readonly List<Thread> _threads = [];
    private bool _exits, _runs;

    public override void Wake()
    {
        lock (_lock) Monitor.PulseAll(_lock);
    }

    public override void Dispose()
    {
        lock (_lock)
        {
            _exits = true;
            foreach (Session session in Sessions) Shut(session.Connection);
            Monitor.PulseAll(_lock);
        }

        foreach (Thread thread in _threads) thread.Join();
        base.Dispose();
    }

    protected override void Adopt(Session session)
    {
        foreach (ThreadStart part in (ThreadStart[])[() => Send(session), () => Receive(session)])
        {
            var thread = new Thread(part, 256 * 1024) { IsBackground = true, Name = $"session {session.Number}" };
            _threads.Add(thread);
            thread.Start();
        }
    }

    protected override void Release(Session session) => Shut(session.Connection);

    protected override void Drive()
    {
        lock (_lock)
        {
            _runs = true;
            Monitor.PulseAll(_lock);
            // Ends: sending ends by time, count or request, and what is outstanding is waited for a bounded time.
            while (!HasNothingLeft)
            {
                if (HasRequest) Obey();
                if (!Watch(Clock.Now))
                {
                    GiveUp();
                    break;
                }

                Monitor.Wait(_lock, RoundMs);
            }

            _runs = false;
        }
    }

    private void Send(Session session)
    {
        byte[] image = new byte[RequestSource.ImageBytes];
        // Ends: with the session, or the run.
        while (true)
        {
            int count;
            if (Plan.Reconnect && !Reconnect(session)) return;
            lock (_lock)
            {
                count = Render(session, image);
                if (count < 0) return;
                if (count == 0)
                {
                    Monitor.Wait(_lock, RoundMs);
                    continue;
                }
            }

            try
            {
                session.Connection!.Write(image.AsSpan(0, count));
            }
            catch (Exception error) when (error is IOException or SocketException or ObjectDisposedException)
            {
                Fail(session, error.Message);
                return;
            }
        }
    }

    /// <returns>Bytes to send; 0: not now; -1: never more.</returns>
    private int Render(Session session, byte[] image)
    {
        if (_exits || session.IsClosed) return -1;
        if (!_runs) return 0;
        // Answered since its sender looked: a new connection first.
        if (Plan.Reconnect && IsAnswered(session)) return 0;
        int allowance = Arrivals is null ? Allowance(session) : Due(session);
        if (allowance == 0) return 0;
        RequestChunk chunk = Source.Render(ref session.Stream, allowance);
        if (!Rendered(session, chunk, Clock.Now)) return 0;
        chunk.Bytes.CopyTo(image);
        Recorder.BytesOut += chunk.Bytes.Length;
        return chunk.Bytes.Length;
    }

    /// <summary>Once the connection's request is answered: a new one for the next, its handshake done.</summary>
    /// <returns>False: the session, or the run, has ended.</returns>
    private bool Reconnect(Session session)
    {
        Connection old;
        lock (_lock)
        {
            if (_exits || session.IsClosed) return false;
            if (!_runs || SendingEnded || !IsAnswered(session) || (Arrivals is null && Allowance(session) == 0))
                return true;
            session.HasAnswered = false;
            session.Connecting = true;
            session.Restart(handshakeReplies: 0);
            old = session.Connection!;
        }

        Shut(old);
        Connection? made = null;
        string? failure = null;
        try
        {
            made = dialer.Open();
        }
        catch (Exception error) when (error is ConnectException or TargetException)
        {
            failure = error.Message;
        }

        lock (_lock)
        {
            session.Connecting = false;
            if (made is not null && !_exits && !session.IsClosed)
            {
                session.Connection = made;
                Monitor.PulseAll(_lock);
                return true;
            }

            made?.Dispose();
            if (!_exits && !session.IsClosed) Close(session, RunEnd.AllDisconnected, failure);
            Monitor.PulseAll(_lock);
            return false;
        }
    }

    /// <summary>All that went over its connection has its reply.</summary>
    private static bool IsAnswered(Session session) =>
        session is { HasAnswered: true, IsCut: false, Inflight.Commands: 0 };

    /// <summary>Waits for the connection that takes the place of one that ended by our own doing.</summary>
    /// <returns>Null: none did. The connection has failed.</returns>
    private Connection? Successor(Session session, Connection ended)
    {
        lock (_lock)
        {
            // Ends: the sender, which began it, has the handshake's time; then there is a new one, or the session is
            // closed.
            while (session.Connecting && !_exits) Monitor.Wait(_lock);
            if (_exits || session.IsClosed || session.Connection == ended) return null;
        }

        ended.Dispose();        // nobody else holds it any more
        return session.Connection;
    }

    /// <summary>Open loop: whether this session may send the next operation; near its time it spins, holding the lock,
    /// as no other has anything to send before it.</summary>
    private int Due(Session session)
    {
        if (session.IsCut) return 1;
        if (SendingEnded || session.StreamEnded) return 0;
        if (Arrivals!.Next >= SendUntil)
        {
            EndSending();
            return 0;
        }

        if (session.Inflight.Commands >= Arrivals.InflightMax || session.ExpectedBytes >= Plan.InflightBytesMax)
            return 0;
        long ahead = Arrivals.Next - Clock.Now;
        if (ahead > 0)
        {
            Monitor.Wait(_lock, (int)Math.Min(RoundMs, ahead / 1_000_000));
            return 0;
        }

        return Claim(1);
    }

    private void Receive(Session session)
    {
        byte[] buffer = new byte[ReceiveBytes + ReplyFramer.LineBytesMax + 64];
        int carried = 0;
        Connection connection = session.Connection!;
        // Ends: with the session, or the run.
        while (true)
        {
            int received = 0;
            string end = "the server closed the connection";
            try
            {
                received = connection.Read(buffer.AsSpan(carried, ReceiveBytes));
            }
            catch (Exception error) when (error is IOException or SocketException or ObjectDisposedException)
            {
                end = error.Message;
            }

            long now = Clock.Now;
            if (received == 0)
            {
                if (Plan.Reconnect && Successor(session, connection) is { } next)
                {
                    (connection, carried) = (next, 0);
                    continue;
                }

                Fail(session, end);
                return;
            }

            lock (_lock)
            {
                if (_exits || session.IsClosed) return;
                // left over from a connection that is done
                if (session.Connecting || session.Connection != connection) continue;
                int total = carried + received;
                int used = Received(session, buffer.AsSpan(0, total), received, now);
                Recorder.Busy += Clock.Now - now;
                Monitor.PulseAll(_lock);
                if (used < 0) return;
                carried = total - used;
                buffer.AsSpan(used, carried).CopyTo(buffer);
            }
        }
    }

    private void Fail(Session session, string why)
    {
        lock (_lock)
        {
            if (_exits || session.IsClosed) return;
            Close(session, RunEnd.AllDisconnected, why);
            Monitor.PulseAll(_lock);
        }
    }

    /// <summary>Ends both directions, so that blocked threads return; the socket itself is closed when the run
    /// is.</summary>
    private static void Shut(Connection? connection)
    {
        try
        {
            connection?.Socket.Shutdown(SocketShutdown.Both);
        }
        catch (Exception error) when (error is SocketException or ObjectDisposedException)
        {
            // It is gone already: that is what was wanted.
        }
    }
}
