using Kv.Server.Effects;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>A sink that has a real redis-server do what the feed says, and keeps what it answers.</summary>
internal sealed class ReferenceSink : IFeedSink, IDisposable
{
    private readonly RespClient _client;
    private readonly Thread _reader;
    private readonly List<string> _errors = [];
    private readonly MemoryStream _sent = new();

    public ReferenceSink(TestServer reference)
    {
        _client = reference.Connect(2, timeoutMs: 600_000);
        _reader = new Thread(Read) { IsBackground = true };
        _reader.Start();
    }

    /// <summary>The ticket of the last entry that it got.</summary>
    public long LastTicket { get; private set; }

    /// <summary>All that it got.</summary>
    public byte[] Sent
    {
        get
        {
            lock (_sent) return _sent.ToArray();
        }
    }

    /// <summary>Errors that the reference has answered.</summary>
    public string Errors
    {
        get
        {
            lock (_errors) return string.Join('\n', _errors);
        }
    }

    public void Write(ReadOnlySpan<byte> entries, int database, long lastTicket)
    {
        Assert.True(lastTicket > LastTicket, "tickets come in order");
        lock (_sent) _sent.Write(entries);
        _client.Send(entries);
        LastTicket = lastTicket;
    }

    public void Flush()
    {
    }

    public void Fail(Exception exception)
    {
        lock (_errors) _errors.Add(exception.ToString());
    }

    public void Dispose()
    {
        _client.Dispose();
        _reader.Join();
    }

    private void Read()
    {
        try
        {
            while (_client.TryRead() is { } reply) Note(reply);
        }
        catch (Exception exception) when (exception is IOException or System.Net.Sockets.SocketException
            or ObjectDisposedException)
        {
            // Disposed.
        }
    }

    private void Note(Reply reply)
    {
        if (reply.Items != null)
            foreach (var item in reply.Items) Note(item);
        if (!reply.IsError) return;
        lock (_errors) _errors.Add(reply.String);
    }
}
