using System.Runtime.InteropServices;
using System.Text;
using Kv.Protocol;
using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Runs commands on the test's own thread, from bytes to bytes, so that what one thread allocates can be
/// counted.</summary>
internal sealed unsafe class WindowRig : IWindowOwner, ISessionOwner, IDisposable
{
    private readonly KvInstance _instance = KvInstance.Start();
    private readonly StoreSession _store;
    private readonly CommandWindow _window;
    private readonly Session _session;
    private readonly byte* _input;
    private readonly int _length;
    private readonly byte[] _replies = new byte[256 * 1024];
    private int _replied;

    /// <param name="lines">Commands, as one would type them; all of them are one pipeline.</param>
    public WindowRig(params string[] lines)
    {
        KvServer server = _instance.Server;
        byte[] wire = [.. lines.SelectMany(line => RespText.Encode(line))];
        _length = wire.Length;
        _input = (byte*)NativeMemory.AllocZeroed((nuint)(wire.Length + CommandParser.PaddingBytes));
        wire.CopyTo(new Span<byte>(_input, wire.Length));
        _store = server.Store.CreateSession();
        _window = new CommandWindow(server, _store, server.Counters.Create(), this);
        _session = new Session(1, server, this) { Authenticated = true };
    }

    public long QueryBytes => 0;

    public long QueryFreeBytes => 0;

    public int OutputPieces => 0;

    public long OutputMemoryBytes => 0;

    public long OutputBytes => 0;

    public long BufferBytes => 0;

    /// <summary>What the store holds, with what is charged to it.</summary>
    public long UsedBytes => _instance.Server.Store.UsedBytes;

    /// <summary>Whether a long command waits for its next turn.</summary>
    public bool IsInSteps => _session.Steps != null;

    /// <summary>Keys of the first database.</summary>
    public long Keys => _instance.Server.Store.Count(0);

    /// <summary>A command of another client, over a socket.</summary>
    public Reply Other(string line)
    {
        using var client = _instance.Connect();
        return client.Ok(line);
    }

    /// <summary>The client is gone.</summary>
    public void End() => _session.End();

    /// <summary>Runs the pipeline once, and returns the replies.</summary>
    public string Run()
    {
        Turn();
        return Encoding.Latin1.GetString(_replies, 0, _replied);
    }

    /// <summary>Bytes that so many runs of the pipeline allocate on the managed heap, after so many to warm
    /// up.</summary>
    public long Allocated(int runs)
    {
        for (int i = 0; i < runs; i++) Turn();
        long least = long.MaxValue;
        // What waits for the store's thread is in a queue that keeps its size: where that thread is late it grows,
        // once.
        for (int round = 0; round < 3 && least != 0; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < runs; i++) Turn();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        return least;
    }

    public void Send(int index, Session session, SessionOutput output, int start, int end)
    {
        output.Buffer.Span[start..end].CopyTo(_replies.AsSpan(_replied));
        _replied += end - start;
    }

    public void Wake(Session session)
    {
    }

    public void Dispose()
    {
        _window.Dispose();
        _store.Dispose();
        NativeMemory.Free(_input);
        _instance.Dispose();
    }

    private void Turn()
    {
        _replied = 0;
        int used = 0;
        // Ends: each turn runs some of the pipeline.
        do
        {
            _store.BeginTurn();
            _window.Begin();
            _window.Add(_session, _input + used, _length - used);
            _window.Run();
            used += _window.LastConsumed;
            _window.Begin();
            _store.GoOffline();
        }
        while (_window.LastHasMore);
    }
}
