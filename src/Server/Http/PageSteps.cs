using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Reports;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Http;

//   state:   Making ──► Made      a thread of the pool has made the page, and wakes the session, which sends it
//              └──────► Gone      the client has left: whoever makes the page frees it

/// <summary>GET /metrics or /status.json on the port of clients: the session waits while a thread of the pool makes the
/// page, then sends it in parts and ends.</summary>
/// <remarks>Threads: the session's own, but for <see cref="Make"/>; and whoever ends the session disposes it.</remarks>
internal sealed class PageSteps(KvServer server, Session session, PageMaker make) : ICommandSteps, IDisposable
{
    private const int Making = 0, Made = 1, Gone = 2;

    /// <summary>What a turn copies.</summary>
    private const int PartBytes = 64 << 10;

    private readonly PageBuffer _page = new();
    private byte[] _head = [];
    private int _state, _sent;

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool GoesOnInPause => true;      // it does nothing with keys

    /// <summary>Makes the page, and wakes the session. Once, after the session has begun to wait.</summary>
    public void Make()
    {
        Debug.Assert(Volatile.Read(ref _state) != Made, "a page is made once");
        try
        {
            _head = make(_page);
        }
        catch (Exception exception)
        {
            server.Log.LogError(exception, "A page could not be made");
            _page.Clear();
            _head = HttpReply.Text("500 Internal Server Error", "The page could not be made.\n");
        }

        // Interlocked: the page is written before the state; and one of the two who meet here gives it back.
        if (Interlocked.CompareExchange(ref _state, Made, Making) == Making) session.Unpark();
        else _page.Dispose();
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        // Acquire: if it is Made, the page is there.
        if (Volatile.Read(ref _state) != Made)
        {
            session.Park(server.TickMs + 1);        // woken for another reason
            return false;
        }

        if (_sent == 0) context.Reply.WriteRaw(_head, count: 0);
        Debug.Assert(_sent <= _page.Length, "no more is sent than was made");
        var part = _page.Written.Span[_sent..];
        bool isLast = part.Length <= PartBytes;
        if (!isLast) part = part[..EndOfPart(part)];
        context.Reply.WriteRaw(part, isLast ? 1 : 0);
        _sent += part.Length;
        if (!isLast) return false;
        session.CloseAfterReply = true;
        Dispose();
        return true;
    }

    /// <summary>Where the next part ends, at least a byte from here. Lines stay whole, where they are not longer than a
    /// part: one that began with "-" would be counted as an error.</summary>
    internal static int EndOfPart(ReadOnlySpan<byte> rest)
    {
        Debug.Assert(rest.Length > PartBytes, "the rest is more than a part");
        int end = rest[..PartBytes].LastIndexOf((byte)'\n') + 1;
        if (end > 0) return end;
        // Ends: at the first byte.
        for (end = PartBytes; end > 1 && rest[end] == (byte)'-'; end--)
        {
        }

        return end;
    }

    public void Dispose()
    {
        if (Interlocked.Exchange(ref _state, Gone) == Made) _page.Dispose();
    }
}
