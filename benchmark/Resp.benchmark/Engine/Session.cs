using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Engine;

/// <summary>One connection of a run: what it has still to send, what it sent and was not answered, and where it is in
/// its replies.</summary>
/// <remarks>Threads: its loop's, or under its loop's lock.</remarks>
internal sealed class Session
{
    private byte[] _unsent = [], _carry = [], _gathered = [];
    private int _unsentAt;

    public Session(int number, Connection? connection, CellPlan plan)
    {
        Number = number;
        Connection = connection;
        Descriptor = connection is { Secure: null } ? connection.Descriptor : -1;
        Inflight = new InflightRing(plan.VerifyShare > 0 && plan.Workload.TracksKeys);
        ReplyBytes = [.. plan.Workload.Kinds.Select(kind => Math.Max(1, kind.ReplyBytes))];
        Stream.Session = number;
    }

    public int Number { get; }

    /// <summary>Its place among the sessions of its loop.</summary>
    public int Index { get; init; }

    /// <summary>Null once it has been closed, or where descriptors of our own replaced it (a connection a
    /// request).</summary>
    public Connection? Connection { get; set; }

    public int Descriptor { get; set; }

    /// <summary>Its place in the source's stream; the source's.</summary>
    public SessionStream Stream;

    public InflightRing Inflight { get; }

    public FrameState Frame;

    /// <summary>What replies of each kind are expected to take.</summary>
    public int[] ReplyBytes { get; }

    /// <summary>Expected bytes of all replies outstanding.</summary>
    public long ExpectedBytes;

    /// <summary>Commands granted and not yet rendered.</summary>
    public int ToSend;

    /// <summary>The last command rendered goes on in the next chunk.</summary>
    public bool IsCut;

    /// <summary>Its source has no more for it.</summary>
    public bool StreamEnded;

    public bool IsClosed;

    /// <summary>The loop watches for room to write.</summary>
    public bool WatchesWrite;

    /// <summary>The connection has had a reply that counted.</summary>
    public bool HasAnswered;

    /// <summary>A connection is being made.</summary>
    public bool Connecting;

    /// <summary>Replies to a handshake that are passed over before the first that counts.</summary>
    public int HandshakeReplies;

    /// <summary>An error among them.</summary>
    public string? Refusal;

    /// <summary>When the batch began to leave, in nanoseconds of the clock.</summary>
    public long BatchSent;

    /// <summary>The kind of the last reply.</summary>
    public byte LastKind;

    /// <summary>Bytes of the connection that were parsed, for messages.</summary>
    public long BytesParsed;

    /// <summary>Why it was broken off; null else.</summary>
    public string? Breakage;

    /// <summary>Room for what arrives where a session has a buffer of its own.</summary>
    public int UnsentCount { get; private set; }

    public ReadOnlySpan<byte> Unsent => _unsent.AsSpan(_unsentAt, UnsentCount);

    public int CarryCount { get; private set; }

    public int GatheredCount { get; set; }

    public ReadOnlySpan<byte> GatheredBytes => _gathered.AsSpan(0, GatheredCount);

    /// <summary>Keeps what the kernel did not take; at most an image, as nothing is rendered before it is
    /// out.</summary>
    public void KeepUnsent(ReadOnlySpan<byte> bytes)
    {
        if (_unsent.Length < bytes.Length) _unsent = new byte[Math.Max(bytes.Length, RequestSource.ImageBytes)];
        bytes.CopyTo(_unsent);
        _unsentAt = 0;
        UnsentCount = bytes.Length;
    }

    public void Sent(int count)
    {
        _unsentAt += count;
        UnsentCount -= count;
    }

    /// <summary>Keeps the beginning of a line until its end comes.</summary>
    public void KeepCarry(ReadOnlySpan<byte> bytes)
    {
        if (_carry.Length < bytes.Length) _carry = new byte[Math.Max(64, bytes.Length * 2)];
        bytes.CopyTo(_carry);
        CarryCount = bytes.Length;
    }

    /// <summary>Puts the kept beginning in front of what is received next.</summary>
    public int TakeCarry(Span<byte> buffer)
    {
        _carry.AsSpan(0, CarryCount).CopyTo(buffer);
        int count = CarryCount;
        CarryCount = 0;
        return count;
    }

    /// <summary>Appends to what is gathered of a body; it grows with what came, not with what was announced.</summary>
    public void Gather(ReadOnlySpan<byte> part)
    {
        if (GatheredCount + part.Length > _gathered.Length)
            Array.Resize(ref _gathered, Math.Max(GatheredCount + part.Length, Math.Max(64, _gathered.Length * 2)));
        part.CopyTo(_gathered.AsSpan(GatheredCount));
        GatheredCount += part.Length;
    }

    /// <summary>Forgets all of the old connection: a new one begins.</summary>
    public void Restart(int handshakeReplies)
    {
        Inflight.Clear();
        Frame = default;
        ExpectedBytes = 0;
        BytesParsed = 0;
        CarryCount = UnsentCount = GatheredCount = 0;
        IsCut = false;
        HandshakeReplies = handshakeReplies;
    }
}
