using System.Text;
using Kv.Tests.Differential;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Whether the data of Kv and of the reference that follows its feed are equal.</summary>
internal static class FeedState
{
    /// <summary>Waits until the reference has all, and compares.</summary>
    public static void AssertEqual(KvInstance kv, TestServer redis, ReferenceSink sink, string where,
        IReadOnlyList<byte[][]>? commands = null)
    {
        long position = kv.Server.Feed.Position;
        Eventually.Holds(() => kv.Server.Feed.Given >= position, () => $"the feed stands still: {where}");
        string? difference = null;
        // The reference works on what it was sent; keys expire on both sides in the meantime.
        Eventually.Holds(() => (difference = Compare(kv, redis)) == null,
            () => $"{where}: {difference}\nfeed: {Tail(sink)}\nerrors: {sink.Errors}\n{Lines(commands)}");
        Assert.Equal("", sink.Errors);
    }

    /// <summary>Waits until a replica has all, and compares.</summary>
    public static void AssertFollows(KvInstance kv, TestServer replica, string where)
    {
        long position = kv.Server.Feed.Position;
        Eventually.Holds(() => kv.Server.Feed.Given >= position, () => $"the feed stands still: {where}");
        string? difference = null;
        // Keys expire here, and are deleted there.
        Eventually.Holds(() => (difference = Compare(kv, replica)) == null, () => $"{where}: {difference}");
    }

    /// <summary>Waits until a replica has its snapshot.</summary>
    public static void AwaitOnline(TestServer replica)
    {
        using var client = replica.Connect();
        Eventually.Holds(() => client.Info("master_link_status") == "up", () => client.Ok("INFO replication").String);
    }

    /// <summary>The first difference.</summary>
    public static string? Compare(TestServer kv, TestServer redis)
    {
        using var ours = kv.Connect();
        using var theirs = redis.Connect();
        if (ours.Ok("DEBUG DIGEST").String == theirs.Ok("DEBUG DIGEST").String && EqualGroups(ours, theirs) == null)
            return null;
        for (int database = 0; database < 16; database++)
        {
            ours.Ok($"SELECT {database}");
            theirs.Ok($"SELECT {database}");
            var keys = ours.Ok("KEYS *").Items!.Concat(theirs.Ok("KEYS *").Items!).DistinctBy(key => key.String);
            foreach (var key in keys)
            {
                string mine = Of(ours, key.Text!), other = Of(theirs, key.Text!);
                if (mine != other) return $"{key.String} of {database} is {mine} here and {other} there";
            }
        }

        return EqualGroups(ours, theirs);
    }

    private static string Of(RespClient client, byte[] key)
    {
        string type = client.Command([RespText.Bytes("TYPE"), key]).String;
        var value = client.Command(Duel.ReadAll(type, key));
        string text = type is "set" or "hash"
            ? string.Join(' ', (value.Items ?? []).Select(item => item.ToString()).Order(StringComparer.Ordinal))
            : value.ToString();
        return $"{type} {text} until {client.Command([RespText.Bytes("PEXPIRETIME"), key])}";
    }

    private static string? EqualGroups(RespClient ours, RespClient theirs)
    {
        for (int database = 0; database < 16; database++)
        {
            ours.Ok($"SELECT {database}");
            theirs.Ok($"SELECT {database}");
            foreach (var key in theirs.Ok("SCAN 0 COUNT 10000000 TYPE stream").Items![1].Items!)
            {
                string mine = Groups(ours, key.Text!), other = Groups(theirs, key.Text!);
                if (mine != other) return $"groups of {key.String} of {database} are {mine} here and {other} there";
            }
        }

        return null;
    }

    private static string Groups(RespClient client, byte[] key)
    {
        var groups = client.Command([.. RespText.Split("XINFO GROUPS"), key]);
        var text = new StringBuilder(groups.ToString());
        foreach (var group in groups.Items ?? [])
        {
            byte[] name = group.Items![1].Text!;
            text.Append(client.Command([RespText.Bytes("XPENDING"), key, name]));
            var consumers = client.Command([.. RespText.Split("XINFO CONSUMERS"), key, name]).Items!;
            foreach (var consumer in consumers)
                text.Append(consumer.Items![1]).Append(consumer.Items[3]);
            var pending = client.Command(
                [RespText.Bytes("XPENDING"), key, name, .. RespText.Split("- + 1000")]).Items!;
            foreach (var entry in pending) text.Append(entry.Items![0]).Append(entry.Items[1]).Append(entry.Items[3]);
        }

        return text.ToString();
    }

    private static string Tail(ReferenceSink sink)
    {
        byte[] sent = sink.Sent;
        return Encoding.Latin1.GetString(sent, Math.Max(0, sent.Length - 6000), Math.Min(6000, sent.Length))
            .Replace("\r\n", " ", StringComparison.Ordinal);
    }

    private static string Lines(IReadOnlyList<byte[][]>? commands) =>
        commands == null ? "" : string.Join('\n', commands.Select(RespText.Line));
}
