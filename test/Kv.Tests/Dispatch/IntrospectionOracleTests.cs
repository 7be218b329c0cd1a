using System.Net;
using System.Net.Sockets;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Tests.Facts;
using Kv.Tests.Harness;

namespace Kv.Tests.Dispatch;

/// <summary>COMMAND INFO and DOCS beside those of a real server, in both versions of RESP: the same shape, the same
/// words.</summary>
/// <remarks>The reference is Redis 7.0, the facts are those of 7.2: what changed in between is listed here, each
/// once.</remarks>
public class IntrospectionOracleTests
{
    private const string NowAny = "7.2 takes a command without arguments";
    private const string Advised = "7.2 advises another command";
    private const string ForPeople = "7.0 marks it as one for people, which no row of ours tells";
    private const string Scripts = "7.2 lets scripts call it";
    private const string Tips = "7.2 has more tips";
    private const string Words = "7.2 has other words for its arguments";
    private const string Single = "a group of one is no group: the usage line is the same";

    /// <summary>Commands whose row Redis 7.0 tells otherwise, and why.</summary>
    private static readonly Dictionary<string, string> InfoDiffers = new()
    {
        ["acl|deluser"] = Tips,
        ["acl|save"] = Tips,
        ["acl|setuser"] = Tips,
        ["blmove"] = Scripts,
        ["blpop"] = Scripts,
        ["brpop"] = Scripts,
        ["brpoplpush"] = Scripts,
        ["bzpopmax"] = Scripts,
        ["bzpopmin"] = Scripts,
        ["client|setname"] = Tips,
        ["cluster|shards"] = "7.2 answers while loading",
        ["cluster|slots"] = "7.2 answers while loading",
        ["command|getkeys"] = NowAny,
        ["command|getkeysandflags"] = NowAny,
        ["config|resetstat"] = Tips,
        ["config|rewrite"] = Tips,
        ["eval"] = "7.2 tells may_replicate",
        ["evalsha"] = "7.2 tells may_replicate",
        ["fcall"] = "7.2 tells may_replicate",
        ["latency|reset"] = "7.2 adds the numbers of all nodes up",
        ["msetnx"] = "7.2 has no tips: a part of it on each shard would not be atomic",
        ["pfcount"] = "7.2 tells may_replicate",
        ["publish"] = "7.2 tells may_replicate",
        ["randomkey"] = Tips,
        ["scan"] = Tips,
        ["spublish"] = "7.2 tells may_replicate",
        ["wait"] = Scripts,
        ["zrank"] = "7.2 has WITHSCORE",
        ["zrevrank"] = "7.2 has WITHSCORE",
    };

    /// <summary>Commands whose docs Redis 7.0 tells otherwise, and why.</summary>
    private static readonly Dictionary<string, string> DocsDiffer = new()
    {
        ["acl|cat"] = Words,
        ["bitop"] = "7.0 tells the operation as any string",
        ["client|kill"] = Words,
        ["client|list"] = Words,
        ["client|pause"] = "7.0 says since 2.9.50, the version before the release",
        ["cluster|meet"] = Words,
        ["cluster|setslot"] = Words,
        ["command|getkeys"] = "7.2 tells the arguments",
        ["command|getkeysandflags"] = "7.2 tells the arguments",
        ["config|get"] = Single,
        ["debug"] = ForPeople,
        ["debug"] = "7.0 marks it as one for people, which no row of ours tells",
        ["failover"] = "7.0 tells FORCE as a part of the target",
        ["function|list"] = "7.0 tells the pattern as any string",
        ["geoadd"] = "7.0 calls CH change",
        ["geodist"] = Words,
        ["geohash"] = "7.2 takes no members, too",
        ["geopos"] = "7.2 takes no members, too",
        ["georadius"] = Words,
        ["georadius_ro"] = Words,
        ["georadiusbymember"] = Words,
        ["georadiusbymember_ro"] = Words,
        ["geosearch"] = Words,
        ["geosearchstore"] = Words,
        ["hscan"] = "7.4 has NOVALUES",
        ["lcs"] = Words,
        ["migrate"] = Words,
        ["module|loadex"] = Single,
        ["pfdebug"] = ForPeople,
        ["pfmerge"] = "7.2 takes it without sources, as 7.0 does but does not tell",
        ["sort"] = "7.0 calls both patterns alike, and ALPHA sorting",
        ["sort_ro"] = "7.0 calls both patterns alike, and ALPHA sorting",
        ["pfselftest"] = ForPeople,
        ["psetex"] = Advised,
        ["psubscribe"] = Single,
        ["quit"] = Advised,
        ["replconf"] = ForPeople,
        ["restore-asking"] = ForPeople,
        ["setex"] = Advised,
        ["setnx"] = Advised,
        ["xadd"] = Words,
        ["xclaim"] = Words,
        ["xgroup|create"] = Words,
        ["xgroup|createconsumer"] = Words,
        ["xgroup|delconsumer"] = Words,
        ["xgroup|destroy"] = Words,
        ["xgroup|setid"] = Words,
        ["xinfo|consumers"] = Words,
        ["xinfo|stream"] = Words,
        ["xsetid"] = Words,
        ["xtrim"] = Words,
        ["zadd"] = "7.0 calls CH change and INCR increment",
        ["zrank"] = "7.2 has WITHSCORE",
        ["zrevrank"] = "7.2 has WITHSCORE",
    };

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Rows_are_told_as_the_reference_tells_them(int resp)
    {
        using var redis = RedisServer.Start();
        using var client = redis.Connect(resp);
        var differences = new List<string>();
        foreach (var row in CommandRows.All)
        {
            var theirs = client.Ok($"COMMAND INFO {row.FullName}").Items![0];
            if (theirs.IsNull) continue;
            string expected = InfoText(theirs);
            string actual = InfoText(Told(resp, reply => CommandInfoReply.Write(reply, row)));
            if (expected != actual) differences.Add($"{row.FullName}\n  reference {expected}\n  row       {actual}");
        }

        CheckReviewed(InfoDiffers, differences);
    }

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Docs_are_told_as_the_reference_tells_them(int resp)
    {
        using var redis = RedisServer.Start();
        using var client = redis.Connect(resp);
        var differences = new List<string>();
        foreach (var row in CommandRows.All)
        {
            var theirs = client.Ok($"COMMAND DOCS {row.FullName}");
            if (theirs.Items!.Count == 0) continue;
            var ours = Told(resp, reply =>
            {
                reply.WriteMap(1);
                CommandDocsReply.Write(reply, row);
            });
            string expected = DocsText(theirs), actual = DocsText(ours);
            if (expected != actual) differences.Add($"{row.FullName}\n  reference {expected}\n  row       {actual}");
            Assert.NotEqual(Field(theirs.Items[1], "summary")!.String.TrimEnd('.'), row.Summary.TrimEnd('.'));
        }

        CheckReviewed(DocsDiffer, differences);
    }

    // What differs is on the list, and what is on the list differs.
    private static void CheckReviewed(Dictionary<string, string> reviewed, List<string> differences)
    {
        var differing = differences.ToDictionary(text => text[..text.IndexOf('\n')]);
        Assert.Equal("", string.Join('\n', differing.Where(pair => !reviewed.ContainsKey(pair.Key))
            .Select(pair => pair.Value)));
        var settled = reviewed.Keys.Where(name => !differing.ContainsKey(name)
            && CommandRows.All.Any(row => row.FullName == name));
        Assert.Equal("", string.Join(' ', settled));
    }

    // All but the subcommands, which are compared by themselves, and their "notes".
    private static string InfoText(Reply info) =>
        string.Join(' ', info.Items!.Take(9).Select(Sorted)) + " " + info.Items![9].Type;

    private static string DocsText(Reply docs)
    {
        var fields = docs.Items![1];
        string told = string.Join(' ', new[] { "since", "group", "doc_flags", "deprecated_since", "arguments" }.Select(
            name => $"{name}={Text(Field(fields, name))}"));
        return $"{docs.Type}{fields.Type} {told} {Field(fields, "subcommands")?.Type}";
    }

    // What a 7.0 server says of an argument that the usage line knows; how a group is called is not seen in it.
    private static string Text(Reply? value)
    {
        if (value is null) return "";
        if (value.Items is null || value.Items.Count == 0 || value.Items[0].Items is null) return Sorted(value);
        return "[" + string.Join(' ', value.Items.Select(argument => argument.Type + "("
            + string.Join(' ', new[] { Field(argument, "arguments") is null ? "name" : "", "type", "token", "flags",
                "key_spec_index", "arguments" }
                .Select(name => Text(Field(argument, name)))) + ")")) + "]";
    }

    private static Reply? Field(Reply map, string name)
    {
        for (int i = 0; i + 1 < map.Items!.Count; i += 2)
        {
            if (map.Items[i].String == name) return map.Items[i + 1];
        }

        return null;
    }

    // Sets have no order; in RESP2 they are arrays, and here no array's order means anything.
    private static string Sorted(Reply reply)
    {
        if (reply.Items is null) return reply.ToString();
        var items = reply.Items;
        if (items.Count > 1 && items[0].Text is not null && items[0].String == "notes") items = [.. items.Skip(2)];
        string type = items.Count == reply.Items.Count || reply.Type == '%' ? $"{reply.Type}" : "*";
        return type + "[" + string.Join(' ', items.Select(Sorted).Order(StringComparer.Ordinal)) + "]";
    }

    // Through a socket, so that the harness' own reader judges the bytes.
    private static Reply Told(int resp, Action<ReplyWriter> write)
    {
        using var writer = new ReplyWriter { Version = resp == 3 ? RespVersion.Resp3 : RespVersion.Resp2 };
        write(writer);
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream,
            System.Net.Sockets.ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        using var client = new RespClient(listener.LocalEndPoint!);
        using var server = listener.Accept();
        byte[] bytes = writer.Output.Span.ToArray();
        var sending = Task.Run(() => server.Send(bytes));
        var reply = client.Read();
        Assert.Equal(bytes.Length, sending.Result);
        Assert.False(client.HasInput);
        return reply;
    }
}
