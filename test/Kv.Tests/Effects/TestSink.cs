using Kv.Server.Effects;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>A sink that keeps what it gets, and can be stopped, or made to throw.</summary>
internal sealed class TestSink : IFeedSink
{
    private readonly ManualResetEventSlim _mayGoOn = new(true);
    private readonly MemoryStream _bytes = new();

    /// <summary>Whether the next call throws.</summary>
    public bool Throws { get; set; }

    public long LastTicket { get; private set; }

    public int Writes { get; private set; }

    public int Flushes { get; private set; }

    /// <summary>All that it got.</summary>
    public string Text
    {
        get
        {
            lock (_bytes) return Reply.Latin(_bytes.ToArray());
        }
    }

    public void Stop() => _mayGoOn.Reset();

    public void GoOn() => _mayGoOn.Set();

    /// <summary>How often it got a word.</summary>
    public int Count(string word) => Text.Split($"\r\n{word}\r\n").Length - 1;

    public void Write(ReadOnlySpan<byte> entries, int database, long lastTicket)
    {
        _mayGoOn.Wait();
        if (Throws) throw new InvalidOperationException("as the test wants it");
        Assert.True(lastTicket > LastTicket, "tickets come in order");
        lock (_bytes) _bytes.Write(entries);
        LastTicket = lastTicket;
        Writes++;
    }

    /// <summary>Whether it has been told that it gets nothing more.</summary>
    public bool HasFailed { get; private set; }

    public void Fail(Exception exception) => HasFailed = true;

    public void Flush()
    {
        if (Throws) throw new InvalidOperationException("as the test wants it");
        Flushes++;
    }
}
