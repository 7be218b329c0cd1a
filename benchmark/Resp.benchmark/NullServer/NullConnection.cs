using System.Net.Sockets;

namespace RespBenchmark.NullServer;

/// <summary>A connection of the null server: where its input is, and the runs of replies that are to be sent.</summary>
/// <remarks>Threads: its loop's only.</remarks>
internal sealed class NullConnection(ulong number, Socket socket, CannedReplies replies, NullServerOptions options)
{
    private readonly Queue<(ReplyPattern Reply, long Count)> _runs = [];
    private ReplyPattern? _reply;       // of the run that is being sent
    private long _bytesLeft;
    private long _answered;
    private int _piece;

    /// <summary>What its events carry; never 0.</summary>
    public ulong Number { get; } = number;

    public Socket Socket { get; } = socket;

    public int Descriptor { get; } = (int)socket.Handle;

    /// <summary>Bytes of the current argument and its CR LF that are still to come.</summary>
    public long SkipBytes { get; set; }

    public int ArgumentsLeft { get; set; }

    /// <summary>The reply to the command of which arguments are still to come.</summary>
    public ReplyPattern? Reply { get; set; }

    /// <summary>An incomplete line or name, kept until the rest is there.</summary>
    public byte[] Tail { get; } = new byte[RequestCounter.TailMax];

    public int TailBytes { get; set; }

    public bool WaitsToWrite { get; set; }

    /// <summary>Replies put in line so far.</summary>
    public long Answered => _answered;

    /// <summary>After what is in line is sent, the connection ends.</summary>
    public bool Closes { get; private set; }

    /// <summary>Nothing is read or answered any more.</summary>
    public bool Hangs { get; private set; }

    public bool HasOutput => _bytesLeft > 0 || _runs.Count > 0;

    /// <summary>Puts replies in line, each faulty one in its place.</summary>
    public void Answer(ReplyPattern reply, int count)
    {
        if (Closes || Hangs) return;
        if (options.Fault == NullFault.None)
        {
            _answered += count;
            _runs.Enqueue((reply, count));
            return;
        }

        while (count > 0)
        {
            int right = (int)Math.Min(count, options.FaultEvery - 1 - (_answered % options.FaultEvery));
            if (right > 0) _runs.Enqueue((reply, right));
            _answered += right;
            count -= right;
            if (count == 0) return;
            if (replies.Faulty(reply) is { } faulty) _runs.Enqueue((faulty, 1));
            _answered++;
            count--;
            Closes = options.Fault is NullFault.Short or NullFault.Close;
            Hangs = options.Fault == NullFault.Hang;
            if (Closes || Hangs) return;
        }
    }

    /// <summary>The next bytes to send; empty when there are none.</summary>
    public ReadOnlySpan<byte> Output()
    {
        if (_bytesLeft == 0)
        {
            if (!_runs.TryDequeue(out (ReplyPattern Reply, long Count) run)) return default;
            _reply = run.Reply;
            _bytesLeft = run.Count * run.Reply.ReplyBytes;
        }

        ReadOnlySpan<byte> next = _reply!.Next(_bytesLeft);
        return options.Split ? next[..Math.Min(next.Length, _piece = (_piece % 64) + 1)] : next;
    }

    public void Sent(int bytes) => _bytesLeft -= bytes;
}
