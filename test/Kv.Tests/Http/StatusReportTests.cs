using System.Text.Json;
using Kv.Server.Http;
using Kv.Server.Reports;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Http;

/// <summary>GET /status.json: what the web page shows.</summary>
public class StatusReportTests
{
    /// <summary>Fields that stay as they are while the test looks at both.</summary>
    private static readonly string[] Still =
    [
        "redis_version", "tcp_port", "maxclients", "maxmemory", "kv_mem_state", "keyspace_hits", "keyspace_misses",
        "kv_hit_ratio", "expired_keys", "db0", "db3", "cmdstat_set", "latency_percentiles_usec_set",
        "errorstat_WRONGTYPE",
    ];

    [Fact]
    public void Figures_are_those_of_INFO()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Say("SET a 1\nGET a\nGET a\nGET b\nSELECT 3\nSET c 1");
        client.Command("LPUSH c x");
        var info = Ask(kv).GetProperty("info");
        string text = client.Ok("INFO everything").String;
        string section = "";
        var expected = new List<string>();
        foreach (string line in text.Split("\r\n", StringSplitOptions.RemoveEmptyEntries))
        {
            if (line.StartsWith("# ", StringComparison.Ordinal)) section = line[2..];
            else expected.Add($"{section}.{line[..line.IndexOf(':')]}");
        }

        // INFO itself is counted when it has run.
        Assert.Equal(expected, info.EnumerateObject().Where(one => one.Name is not ("Hotkeys" or "Bigkeys")).SelectMany(
            one => one.Value.EnumerateObject().Select(field => $"{one.Name}.{field.Name}")));
        Assert.All(Still, name =>
            Assert.Contains($"\r\n{name}:{Field(info, name)}\r\n", text, StringComparison.Ordinal));
    }

    [Fact]
    public void Names_of_keys_are_those_of_INFO_and_only_such_as_the_user_may_read()
    {
        using var kv = KvInstance.Start(new TestClock());
        using var client = kv.Connect();
        client.Ok("ACL SETUSER ops on >p +info ~shown* %W~written");
        client.Ok("ACL SETUSER blind on >p +info");
        client.Ok("SET shown<script> v");
        client.Ok($"SET hidden {new string('v', 2000)}");
        client.Ok("SET written v");
        const string all = "hidden shown<script> written";
        Eventually.Holds(() => Names(kv, "Bigkeys") == all, () => Names(kv, "Bigkeys"));
        Assert.Equal(all, Names(kv, "Hotkeys"));
        string hot = client.Ok("INFO hotkeys").String;
        foreach (var line in Ask(kv).GetProperty("info").GetProperty("Hotkeys").EnumerateObject())
            Assert.Contains($"\r\n{line.Name}:{line.Value.GetString()}\r\n", hot, StringComparison.Ordinal);
        foreach (string section in (string[])["Hotkeys", "Bigkeys"])
        {
            Assert.Equal("shown<script>", Names(kv, section, "ops:p"));
            Assert.Equal("", Names(kv, section, "blind:p"));
        }
    }

    private static string Names(TestServer kv, string section, string? user = null) => string.Join(' ',
        Ask(kv, user).GetProperty("info").GetProperty(section).EnumerateObject()
            .Select(line => line.Value.GetString()!.Split(',').FirstOrDefault(pair => pair.StartsWith("key=")))
            .Where(pair => pair != null).Select(pair => pair![4..]).Order(StringComparer.Ordinal));

    [Fact]
    public void The_slow_log_is_that_of_SLOWLOG_without_secrets()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("CLIENT SETNAME <b>me</b>");
        client.Ok("CONFIG SET slowlog-log-slower-than 0");
        client.Command("AUTH default secret");
        client.Command([.. "SET"u8], [.. "<script>alert(1)</script>"u8], [.. "\u202Egrüß\n"u8]);
        client.Command([.. "ECHO"u8], [0xFF, 0, .. "\\"u8]);
        client.Ok($"ECHO {new string('x', 200)}");
        client.Ok("CONFIG SET slowlog-log-slower-than -1");
        var log = Ask(kv).GetProperty("slowlog");
        string[] entries = [.. log.GetProperty("entries").EnumerateArray().Select(entry => string.Join(' ',
            entry.GetProperty("arguments").EnumerateArray().Select(one => one.GetString())))];
        Assert.Equal([$"ECHO {new string('x', 128)}... (72 more bytes)",
            @"ECHO \xff\x00\", @"SET <script>alert(1)</script> \xe2\x80\xaegrüß\x0a", "AUTH (redacted) (redacted)",
            "CONFIG SET slowlog-log-slower-than 0"], entries);
        Assert.Equal(5, log.GetProperty("total").GetInt32());
        var theirs = client.Ok("SLOWLOG GET 1").Items![0].Items!;
        var ours = log.GetProperty("entries")[0];
        Assert.Equal((theirs[0].Integer, theirs[1].Integer, theirs[2].Integer),
            (ours.GetProperty("id").GetInt64(), ours.GetProperty("time").GetInt64(),
                ours.GetProperty("microseconds").GetInt64()));
        Assert.Equal((theirs[4].String, "<b>me</b>"),
            (ours.GetProperty("address").GetString(), ours.GetProperty("name").GetString()));
    }

    [Fact]
    public void Clients_are_those_of_CLIENT_LIST()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        using var asker = kv.Connect();
        client.Ok("CLIENT SETNAME a=b");
        client.Ok("PING");
        string line = "";
        // Its worker notes what it has run after the reply has left.
        Eventually.Holds(() => (line = asker.Ok("CLIENT LIST").String.Split('\n')[0]).Contains("cmd=ping "),
            () => line);
        var clients = Ask(kv).GetProperty("clients").EnumerateArray().ToList();
        var own = clients.Single(one => one.GetProperty("name").GetString() == "a=b");
        string[] still = ["id", "addr", "name", "flags", "db", "sub", "psub", "multi", "cmd", "user", "resp"];
        Assert.All(still, name =>
            Assert.Contains($"{name}={own.GetProperty(name).GetString()} ", line, StringComparison.Ordinal));
        Assert.Equal(18, own.EnumerateObject().Count());
    }

    [Fact]
    public void Options_are_those_of_CONFIG_GET_without_secrets()
    {
        using var kv = KvInstance.Start("--maxmemory", "100mb", "--masterauth", "hidden-word");
        using var client = kv.Connect();
        using var page = JsonDocument.Parse(HttpTalk.Get(kv.EndPoint, "/status.json").Body);
        var options = page.RootElement.GetProperty("options").EnumerateArray().ToDictionary(
            one => one.GetProperty("name").GetString()!,
            one => (Value: one.GetProperty("value").GetString(), Default: one.GetProperty("default").GetString()));
        Assert.Equal(("104857600", "0"), options["maxmemory"]);
        Assert.All(options.Where(one => one.Value.Value != "(redacted)"),
            one => Assert.Equal(client.Ok($"CONFIG GET {one.Key}").Items![1].String, one.Value.Value));
        Assert.DoesNotContain("hidden-word", page.RootElement.GetRawText(), StringComparison.Ordinal);
        Assert.InRange(options.Count, 50, 200);
    }

    [Fact]
    public void Options_say_who_has_set_them_to_who_may_ask_CONFIG_EXPLAIN()
    {
        using var kv = KvInstance.Start("--maxmemory", "100mb");
        using var client = kv.Connect();
        client.Ok("CONFIG SET timeout 77");
        foreach (string name in (string[])["maxmemory", "timeout", "port", "databases"])
        {
            var explained = client.Ok($"CONFIG EXPLAIN {name}").Items![1].Items!.Select(item => item.String).ToList();
            Assert.Equal(explained[explained.IndexOf("set-by") + 1], Origin(name));
        }

        client.Ok("ACL SETUSER ops on >p +info +config|get");
        Assert.Null(Origin("timeout", "ops:p"));

        string? Origin(string name, string? user = null)
        {
            var option = Ask(kv, user).GetProperty("options").EnumerateArray()
                .Single(one => one.GetProperty("name").GetString() == name);
            return option.TryGetProperty("origin", out var origin) ? origin.GetString() : null;
        }
    }

    // A part of a page begins with no "-", and has a byte at least.
    [Fact]
    public void A_line_longer_than_a_part_is_cut()
    {
        const int part = 64 << 10;
        byte[] line = new byte[2 * part];
        Assert.Equal(part, PageSteps.EndOfPart(line));
        line.AsSpan(part - 10, 20).Fill((byte)'-');
        Assert.Equal(part - 11, PageSteps.EndOfPart(line));
        line.AsSpan().Fill((byte)'-');
        Assert.Equal(1, PageSteps.EndOfPart(line));
        line[100] = (byte)'\n';
        Assert.Equal(101, PageSteps.EndOfPart(line));
    }

    [Fact]
    public void It_is_bounded_whatever_there_is_and_sent_in_lines()
    {
        using var kv = KvInstance.Start("--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000");
        var clients = Enumerable.Range(0, 100).Select(_ => kv.Connect()).ToList();
        byte[] word = [.. Enumerable.Repeat((byte)'"', 2000)];
        foreach (var client in clients)
            client.Command([.. "ECHO"u8], word);
        // As long as the name of a user may be.
        clients[0].Ok($"ACL SETUSER {new string('u', 1024)} on nopass +@all");
        clients[0].Ok($"AUTH {new string('u', 1024)} x");
        var reply = HttpTalk.Get(kv.EndPoint, "/status.json");
        using var page = JsonDocument.Parse(reply.Body);
        Assert.Equal(StatusReport.ClientsMax, page.RootElement.GetProperty("clients").GetArrayLength());
        var log = page.RootElement.GetProperty("slowlog");
        Assert.Equal(StatusReport.SlowMax, log.GetProperty("entries").GetArrayLength());
        Assert.InRange(log.GetProperty("total").GetInt32(), 100, 1000);
        // A part that began so would be counted as an error.
        Assert.All(reply.Body.Split('\n'), line => Assert.False(line.StartsWith('-') || line.Length > 16_384, line));
        clients.ForEach(client => client.Dispose());
    }

    private static JsonElement Ask(TestServer kv, string? user = null)
    {
        string header = user == null ? "" : $"Authorization: Basic {Convert.ToBase64String(RespText.Bytes(user))}\r\n";
        var reply = HttpTalk.Say(kv.EndPoint, $"GET /status.json HTTP/1.1\r\n{header}\r\n");
        Assert.Equal(("HTTP/1.1 200 OK", "application/json"), (reply.StatusLine, reply.Header("Content-Type")));
        using var page = JsonDocument.Parse(reply.Body);
        return page.RootElement.Clone();
    }

    private static string Field(JsonElement info, string name) => info.EnumerateObject()
        .SelectMany(section => section.Value.EnumerateObject()).Single(field => field.Name == name).Value.GetString()!;
}
