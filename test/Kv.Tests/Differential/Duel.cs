using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>A difference between two servers: after these commands, the last one's replies.</summary>
internal sealed record Difference(IReadOnlyList<byte[][]> Commands, Reply? Ours, Reply? Theirs);

/// <summary>Two servers side by side that get the same commands.</summary>
internal sealed class Duel(TestServer ours, TestServer theirs, int resp) : IDisposable
{
    // Whoever measures in real time on both cores leaves others next to nothing.
    private const int PatienceMs = 60_000;

    private readonly List<byte[][]> _queued = [];
    private readonly HashSet<string> _sorted = [];      // keys that SORT was asked for, and copies of them
    private RespClient _ours = ours.Connect(resp, PatienceMs), _theirs = theirs.Connect(resp, PatienceMs);

    public void Dispose()
    {
        _ours.Dispose();
        _theirs.Dispose();
    }

    /// <summary>Empties both and begins anew on fresh connections.</summary>
    internal void Begin()
    {
        Dispose();
        _queued.Clear();
        _sorted.Clear();
        ours.Clear();
        theirs.Clear();
        _ours = ours.Connect(resp, PatienceMs);
        _theirs = theirs.Connect(resp, PatienceMs);
    }

    /// <summary>Sends a pipeline to both, ours cut at random bytes; gives the index of the first reply that differs, or
    /// -1.</summary>
    internal int Run(IReadOnlyList<byte[][]> batch, Random cuts, Action<byte[][], Reply>? onReply, out Reply? mine,
        out Reply? other)
    {
        var wire = new MemoryStream();
        foreach (byte[][] command in batch) wire.Write(RespText.Encode(command));
        SendCut(_ours, wire.ToArray(), cuts);
        _theirs.Send(wire.ToArray());
        for (int i = 0; i < batch.Count; i++)
        {
            (mine, other) = (Answered(batch, i, ours, _ours.TryRead), Answered(batch, i, theirs, _theirs.Read)!);
            if (mine is null || !IsEqual(batch[i], mine, other))
            {
                Drain(batch.Count - i - 1, mine is not null);
                return i;
            }

            onReply?.Invoke(batch[i], other);
        }

        (mine, other) = (null, null);
        return -1;
    }

    private static Reply? Answered(IReadOnlyList<byte[][]> batch, int index, TestServer server, Func<Reply?> read)
    {
        try
        {
            return read();
        }
        catch (TimeoutException)
        {
            Assert.Fail(
                $"{server.Name} does not answer the last of\n"
                + $"{string.Join('\n', batch.Take(index + 1).Select(RespText.Line))}");
            return null;
        }
    }

    // What EXEC answers is what its commands do, each by its own rule.
    private bool IsEqual(byte[][] command, Reply mine, Reply other)
    {
        bool isQueued = other.Type == '+' && other.String == "QUEUED";
        if (isQueued) _queued.Add(command);
        string name = Reply.Latin(command[0]).ToUpperInvariant();
        NoteSorted(name, command);
        if (name == "MULTI" && !other.IsError) _queued.Clear();
        if (isQueued || name != "EXEC") return IsEqualOne(command, mine, other);
        byte[][][] queued = [.. _queued];
        _queued.Clear();
        if (mine.Items is null || other.Items is null || other.Items.Count != queued.Length)
            return ReplyComparer.IsEqual(command, mine, other);
        return mine.Items.Count == queued.Length
            && queued.Select((one, at) => IsEqualInExec(one, mine.Items[at], other.Items[at])).All(equal => equal);
    }

    // The reference's queue refers to its arguments, too: OBJECT REFCOUNT of a value that was set in the transaction
    // says 2.
    private bool IsEqualInExec(byte[][] command, Reply mine, Reply other) =>
        (mine.Type == ':' && other.Type == ':'
            && Reply.Latin(command[0]).Equals("OBJECT", StringComparison.OrdinalIgnoreCase))
        || IsEqualOne(command, mine, other);

    private bool IsEqualOne(byte[][] command, Reply mine, Reply other) =>
        ReplyComparer.IsEqual(command, mine, other)
        || (mine.Text.AsSpan().SequenceEqual("listpack"u8) && other.Text.AsSpan().SequenceEqual("skiplist"u8)
            && _sorted.Contains(Reply.Latin(command[^1])));

    // The reference unpacks a sorted set to sort it, and leaves it so.
    private void NoteSorted(string name, byte[][] command)
    {
        if (command.Length > 1 && name is ("SORT" or "SORT_RO")) _sorted.Add(Reply.Latin(command[1]));
        if (command.Length > 2 && name is ("COPY" or "RENAME" or "RENAMENX")
            && _sorted.Contains(Reply.Latin(command[1]))) _sorted.Add(Reply.Latin(command[2]));
    }

    /// <summary>From empty servers: whether these commands, one pipeline or one by one, show a difference.</summary>
    internal Difference? Replay(IReadOnlyList<byte[][]> commands, int batchSize = 64)
    {
        Begin();
        var cuts = new Random(1);
        for (int at = 0; at < commands.Count; at += batchSize)
        {
            var batch = commands.Skip(at).Take(batchSize).ToArray();
            int index = Run(batch, cuts, null, out var mine, out var other);
            if (index >= 0) return new Difference([.. commands.Take(at + index + 1)], mine, other);
        }

        return null;
    }

    /// <summary>All that both hold at the end, database by database, as commands whose replies must be equal.</summary>
    internal IEnumerable<byte[][]> StateQueries()
    {
        yield return RespText.Split("DISCARD");     // what is still queued is no state
        foreach (string database in (string[])["0", "1", "2", "15"])
        {
            yield return RespText.Split($"SELECT {database}");
            yield return RespText.Split("KEYS *");
            using var reader = theirs.Connect();
            reader.Ok($"SELECT {database}");
            foreach (var key in reader.Ok("KEYS *").Items!.OrderBy(key => key.String, StringComparer.Ordinal))
            {
                var type = reader.Command([.. RespText.Split("TYPE"), key.Text!]);
                yield return ReadAll(type.String, key.Text!);
                if (type.String == "stream")
                    yield return [.. RespText.Split("XINFO STREAM"), key.Text!, .. RespText.Split("FULL COUNT 0")];
                yield return [.. RespText.Split("PEXPIRETIME"), key.Text!];
            }
        }
    }

    /// <summary>The command that reads all of a key's value.</summary>
    internal static byte[][] ReadAll(string type, byte[] key)
    {
        string[] read = type switch
        {
            "hash" => ["HGETALL"],
            "set" => ["SMEMBERS"],
            "list" => ["LRANGE", "0", "-1"],
            "zset" => ["ZRANGE", "0", "-1", "WITHSCORES"],
            "stream" => ["XRANGE", "-", "+"],
            _ => ["GET"],
        };
        return [RespText.Bytes(read[0]), key, .. read.Skip(1).Select(RespText.Bytes)];
    }

    /// <summary>Fewer commands that show a difference too: halves first, then one by one. Ends: each round removes
    /// some.</summary>
    internal Difference Shrink(Difference found)
    {
        for (int size = found.Commands.Count / 2; size >= 1; size /= 2)
        {
            for (int at = 0; at + size < found.Commands.Count;)
            {
                // The last command is the one that differs: it stays.
                var fewer = found.Commands.Take(at).Concat(found.Commands.Skip(at + size)).ToList();
                if (Replay(fewer, 1) is { } smaller) found = smaller;
                else at += size;
            }
        }

        return Replay(found.Commands, 1) ?? found;
    }

    internal static string Describe(Difference difference)
    {
        var text = new StringBuilder("paste into redis-cli, after FLUSHALL:\n");
        foreach (byte[][] command in difference.Commands) text.Append("  ").AppendLine(RespText.Line(command));
        text.Append("ours:   ").AppendLine(difference.Ours?.ToString() ?? "(closed)");
        text.Append("theirs: ").AppendLine(difference.Theirs?.ToString() ?? "(closed)");
        return text.ToString();
    }

    // What was sent must be done before the servers are emptied for a replay.
    private void Drain(int replies, bool oursLives)
    {
        try
        {
            for (int i = 0; i < replies; i++)
            {
                _theirs.Read();
                if (oursLives) oursLives = _ours.TryRead() is not null;
            }
        }
        catch (Exception e) when (e is IOException or TimeoutException or FormatException)
        {
            // Ours gave a reply too few or too many: the replay begins on new connections.
        }
    }

    private static void SendCut(RespClient client, byte[] wire, Random cuts)
    {
        int at = 0;
        int pieces = cuts.Next(1, 6);
        for (int i = 1; i < pieces; i++)
        {
            int end = cuts.Next(at, wire.Length);
            client.Send(wire.AsSpan(at, end - at));
            at = end;
        }

        client.Send(wire.AsSpan(at));
    }
}
