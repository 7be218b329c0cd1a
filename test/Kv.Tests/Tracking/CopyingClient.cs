using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>How a client of the stress test keeps copies.</summary>
public enum CopyMode { Default, OptIn, NoLoop, Broadcast, Redirected }

/// <summary>A client with copies of what it has read, which it drops when it is told to: what client-side caching in
/// libraries is, in a few lines.</summary>
/// <remarks>Threads: one.</remarks>
internal sealed class CopyingClient : IDisposable
{
    private const string Sentinel = "k-sentinel";

    private readonly RespClient _data;
    private readonly RespClient? _messages;
    private readonly CopyMode _mode;
    private readonly Dictionary<string, string> _copies = [];
    private readonly Queue<Action<Reply>> _expected = new();

    public CopyMode Mode => _mode;

    public CopyingClient(TestServer server, CopyMode mode)
    {
        _mode = mode;
        _data = server.Connect(resp: 3);
        if (mode == CopyMode.Redirected)
        {
            // A connection of RESP2 that only listens, as libraries without RESP3 have it.
            _messages = server.Connect();
            long id = _messages.Ok("CLIENT ID").Integer;
            _messages.Ok("SUBSCRIBE __redis__:invalidate");
            _data.Ok($"CLIENT TRACKING ON REDIRECT {id}");
            return;
        }

        _data.Ok("CLIENT TRACKING ON" + mode switch
        {
            CopyMode.OptIn => " OPTIN",
            CopyMode.NoLoop => " NOLOOP",
            CopyMode.Broadcast => " BCAST PREFIX k PREFIX h",
            _ => "",
        });
    }

    public IReadOnlyDictionary<string, string> Copies => _copies;

    public long Invalidated { get; private set; }

    public void Dispose()
    {
        _data.Dispose();
        _messages?.Dispose();
    }

    /// <summary>Asks for a value; its copy is kept when the reply comes.</summary>
    public void Get(string key) => Read($"GET {key}", reply => _copies[key] = reply.ToString());

    public void GetHash(string key) =>
        Read($"HGETALL {key}", reply => _copies[key] = Sorted(reply));

    public void GetMany(string[] keys) => Read($"MGET {string.Join(' ', keys)}", reply =>
    {
        for (int i = 0; i < keys.Length; i++) _copies[keys[i]] = reply.Items![i].ToString();
    });

    public void GetByScript(string key) =>
        Read($"EVAL \"return redis.call('GET', KEYS[1])\" 1 {key}", reply => _copies[key] = reply.ToString());

    public void GetInTransaction(string first, string second)
    {
        if (_mode == CopyMode.OptIn) Say("CLIENT CACHING YES", null);
        Say("MULTI", null);
        Say($"GET {first}", null);
        Say($"GET {second}", null);
        Say("EXEC", reply =>
        {
            _copies[first] = reply.Items![0].ToString();
            _copies[second] = reply.Items[1].ToString();
        });
    }

    /// <summary>Writes; what the client itself has changed it drops by itself, if nobody tells it.</summary>
    public void Write(string command, params string[] keys) => Say(command, _ =>
    {
        if (_mode == CopyMode.NoLoop)
            foreach (string key in keys) _copies.Remove(key);
    });

    /// <summary>Reads all replies, and the messages between them.</summary>
    public void Finish()
    {
        while (_expected.Count > 0)
        {
            var reply = _data.Read();
            if (reply.Type == '>') Drop(reply.Items![1]);
            else _expected.Dequeue()(reply);
        }
    }

    /// <summary>Begins to wait for all messages of what was written so far.</summary>
    public void AskForEnd()
    {
        Get(Sentinel);
        Finish();
    }

    /// <summary>The key whose next change comes behind all messages so far.</summary>
    public static string EndCommand => $"INCR {Sentinel}";

    /// <summary>Reads messages up to the end.</summary>
    public void AwaitEnd()
    {
        // Not until the copy has gone: the message of a flush takes it away, too, and may come before others.
        Reply keys;
        do
        {
            keys = (_messages ?? _data).Read().Items![^1];
            Drop(keys);
        }
        while (keys.IsNull || !keys.Items!.Any(key => key.String == Sentinel));
    }

    private static string Sorted(Reply hash) => string.Join(' ', Enumerable.Range(0, hash.Items!.Count / 2)
        .Select(i => $"{hash.Items[2 * i]}={hash.Items[(2 * i) + 1]}").Order(StringComparer.Ordinal));

    /// <summary>What a hash is to <see cref="Copies"/>.</summary>
    public static string HashText(Reply hash) => Sorted(hash);

    private void Read(string command, Action<Reply> keep)
    {
        if (_mode == CopyMode.OptIn) Say("CLIENT CACHING YES", null);
        Say(command, keep);
    }

    private void Say(string command, Action<Reply>? then)
    {
        _data.Send(command);
        _expected.Enqueue(reply =>
        {
            if (reply.IsError) Assert.Fail($"{command} answered {reply}");
            then?.Invoke(reply);
        });
    }

    private void Drop(Reply keys)
    {
        Invalidated++;
        if (keys.IsNull) _copies.Clear();
        else
            foreach (var key in keys.Items!) _copies.Remove(key.String);
    }
}
