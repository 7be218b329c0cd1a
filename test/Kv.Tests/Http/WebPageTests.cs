using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Http;

/// <summary>GET /: the web page, as it is sent and as a real browser draws it.</summary>
public class WebPageTests
{
    /// <summary>Figures that stay as they are while a browser looks at them.</summary>
    private static readonly string[] Still =
    [
        "kv_version", "tcp_port", "kv_workers", "kv_mem_state", "maxclients", "blocked_clients", "keyspace_hits",
        "keyspace_misses", "kv_hit_ratio", "kv_hit_ratio_2x", "expired_keys", "evicted_keys",
    ];

    private static readonly string[] StillMemory = ["kv_mem_index", "kv_mem_log", "kv_mem_blocks", "kv_mem_tables"];

    public static TheoryData<string> Both => Transports.Both;

    [Theory, MemberData(nameof(Both))]
    public void It_is_one_file_that_refers_to_nothing_elsewhere(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        var page = HttpTalk.Get(kv.EndPoint, "/");
        Assert.Equal(("HTTP/1.1 200 OK", "text/html; charset=utf-8"),
            (page.StatusLine, page.Header("Content-Type")));
        Assert.Equal("", HttpTalk.Get(kv.EndPoint, "/", "HEAD").Body);
        string html = Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(page.Body));
        Assert.Equal(["data:,", "metrics", "status.json"], Regex.Matches(html, "(src|href)=\"(?!#)([^\"]*)\"")
            .Select(match => match.Groups[2].Value).Distinct().Order());
        Assert.Empty(Regex.Matches(html, "@import|url\\(").Select(match => match.Value));
        Assert.Equal(["http://www.w3.org/2000/svg"],
            Regex.Matches(html, "https?://[^'\"` ]+").Select(match => match.Value).Distinct());
        // What comes from the server becomes text and nothing else.
        Assert.DoesNotMatch("innerHTML|outerHTML|insertAdjacent|document\\.write|eval\\(|new Function| on[a-z]+=",
            html);
    }

    [Fact]
    public void Its_policy_allows_its_own_style_and_script_and_no_others()
    {
        using var kv = KvInstance.Start();
        var page = HttpTalk.Get(kv.EndPoint, "/");
        string html = Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(page.Body));
        string policy = page.Header("Content-Security-Policy")!;
        Assert.Equal("default-src 'none'; "
            + $"style-src '{HashOf("style")}'; script-src '{HashOf("script")}'; connect-src 'self'; img-src data:; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'", policy);
        Assert.Equal(2, Regex.Count(html, "</?script>"));
        Assert.DoesNotContain("style=", html, StringComparison.Ordinal);

        string HashOf(string tag) => "sha256-" + Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(
            Regex.Match(html, $"<{tag}>(.*)</{tag}>", RegexOptions.Singleline).Groups[1].Value)));
    }

    [Fact]
    public void A_browser_draws_the_figures_of_INFO()
    {
        using var kv = KvInstance.Start("--maxmemory", "200mb");
        using var client = kv.Connect();
        Work(client);
        using var browser = new Browser();
        string dom = browser.Dom(Address(kv));
        Assert.Contains(">live<", dom, StringComparison.Ordinal);
        Assert.All(Still, field => Assert.Equal((field, client.Info(field)),
            (field, Browser.Shown(dom, "data-field", field).Title)));
        Assert.All(StillMemory, field => Assert.Equal((field, client.Info(field)),
            (field, Browser.Shown(dom, "data-drawn", field).Title)));
        Assert.Equal("3", Browser.Shown(dom, "data-field", "keyspace_hits").Text);
        Assert.Equal("75.0 %", Browser.Shown(dom, "data-field", "kv_hit_ratio").Text);
        Assert.Equal("50", Browser.Shown(dom, "id", "key-count").Text);

        // A row a command: its calls and its percentiles are those of INFO.
        string row = Regex.Match(dom, "<tr><td class=\"mono\">set</td>.*?</tr>").Value;
        var counts = client.Info("cmdstat_set").Split(',').ToDictionary(pair => pair.Split('=')[0],
            pair => pair.Split('=')[1]);
        Assert.Contains($"title=\"{counts["calls"]}\">{counts["calls"]}<", row, StringComparison.Ordinal);
        Assert.Contains($"title=\"{counts["usec_per_call"]} µs\"", row, StringComparison.Ordinal);
        string[] percentiles = client.Info("latency_percentiles_usec_set").Split(',');
        Assert.Equal(3, percentiles.Length);
        Assert.All(percentiles, one => Assert.Contains($"title=\"{double.Parse(one.Split('=')[1])} µs\"", row,
            StringComparison.Ordinal));
        Assert.Equal(3, Regex.Count(row, "<em "));
        // Each chart has a line, of as many points as there were looks.
        Assert.InRange(Regex.Matches(dom, "data-points=\"([0-9]+)\"").Count, 4, 6);
        Assert.Contains($"<td class=\"mono w\">{200 << 20}</td>", dom, StringComparison.Ordinal);
    }

    [Fact]
    public void A_browser_draws_keys_that_are_used_most_and_the_largest_and_who_has_set_options()
    {
        using var kv = KvInstance.Start("--maxmemory", "200mb");
        using var client = kv.Connect();
        client.Ok("RPUSH <b>list</b> 1 2 3");
        client.Ok($"SET big {new string('v', 5000)}");
        client.Say("GET big\nGET big\nGET big");
        Eventually.Holds(() => Bytes("string") != "" && Bytes("list") != "", () => client.Ok("INFO bigkeys").String);
        using var browser = new Browser();
        string dom = browser.Dom(Address(kv));
        string hot = Table("table-hotkeys"), large = Table("table-bigkeys");
        // As the list has them: the one that is used most first.
        Assert.Matches("<tbody><tr><td class=\"mono w\">big</td><td class=\"n\">0</td>.*"
            + "<td class=\"mono w\">&lt;b&gt;list&lt;/b&gt;</td><td class=\"n\">0</td>", hot);
        Assert.Equal(2, Regex.Count(hot, "<td class=\"n\">[0-9]+\\.[0-9] %</td></tr>"));
        Assert.Matches($"<tbody><tr><td class=\"d\">string</td>.*>big<.*title=\"{Bytes("string")} bytes\".*"
            + $"<td class=\"d\">list</td>.*&lt;b&gt;list&lt;/b&gt;<.*title=\"{Bytes("list")} bytes\".*"
            + "title=\"3\">3<", large);
        Assert.Matches(">maxmemory</td>.*<td class=\"d\">the program that runs the server</td>", dom);

        string Bytes(string type) => Regex.Match(client.Ok("INFO bigkeys").String,
            $"kv_bigkey_{type}_0:.*bytes=([0-9]+)").Groups[1].Value;

        string Table(string id) => Regex.Match(dom, $"id=\"{id}\".*?</div>", RegexOptions.Singleline).Value;
    }

    [Fact]
    public void Text_of_clients_stays_text()
    {
        using var kv = KvInstance.Start("--slowlog-log-slower-than", "0");
        using var client = kv.Connect();
        client.Ok("CLIENT SETNAME <b>name</b>");
        client.Ok("SET <img/src=x/onerror=document.title=1> </script><script>document.title=2</script>");
        using var browser = new Browser();
        string dom = browser.Dom(Address(kv));
        Assert.Contains(">SET &lt;img/src=x/onerror=document.title=1&gt; "
            + "&lt;/script&gt;&lt;script&gt;document.title=2&lt;/script&gt;</td>", dom, StringComparison.Ordinal);
        Assert.Contains(">&lt;b&gt;name&lt;/b&gt;</td>", dom, StringComparison.Ordinal);
        Assert.DoesNotContain("<img", dom, StringComparison.Ordinal);
        Assert.DoesNotContain("<b>name", dom, StringComparison.Ordinal);
        Assert.Matches("<title>Kv :[0-9]+ · [0-9,]+/s</title>", dom);
    }

    [Fact]
    public void A_user_with_a_password_sees_it()
    {
        using var server = new MetricsServer("--requirepass", "secret");
        int port = ((IPEndPoint)server.EndPoint).Port;
        using var browser = new Browser();
        string dom = browser.Dom($"http://default:secret@127.0.0.1:{port}/");
        Assert.Contains(">live<", dom, StringComparison.Ordinal);
        Assert.Equal("10000", Browser.Shown(dom, "data-field", "maxclients").Title);
    }

    // A frame stands for the window: Chromium opens none narrower than 500 px.
    [Theory, InlineData(360), InlineData(768), InlineData(1280)]
    public void Nothing_is_wider_than_the_window(int width)
    {
        using var kv = KvInstance.Start("--slowlog-log-slower-than", "0");
        using var client = kv.Connect();
        Work(client);
        client.Ok($"ECHO {new string('w', 400)}");
        string html = Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(HttpTalk.Get(kv.EndPoint, "/").Body));
        string status = HttpTalk.Get(kv.EndPoint, "/status.json").Body;
        const string measure = """
            <script>
            setTimeout(() => parent.postMessage(['page', document.documentElement.scrollWidth, 'tables',
              document.querySelectorAll('table').length, document.getElementById('state').textContent, 'end'].join(' '),
              '*'), 1500);
            </script>
            """;
        // Away from the server there is no policy, so that the test may look at the page from within.
        string framed = html.Replace("<style>", $"<script>window.fetch = async () => new Response({ScriptText(status)})"
            + "</script><style>", StringComparison.Ordinal) + measure;
        using var browser = new Browser();
        string dom = browser.DomOf($"<script>onmessage = event => document.body.append(event.data)</script><iframe "
            + $"src=\"framed.html\" width=\"{width}\" height=\"900\" frameborder=\"0\"></iframe>",
            ("framed.html", framed));
        var found = Regex.Match(dom, "page ([0-9]+) tables ([0-9]+) live end");
        Assert.True(found.Success, dom);
        Assert.InRange(int.Parse(found.Groups[1].Value), 1, width);
        // The largest keys are known a moment later.
        Assert.InRange(int.Parse(found.Groups[2].Value), 6, 7);
    }

    // Three hits, a miss, and a latency.
    private static void Work(RespClient client)
    {
        for (int i = 0; i < 50; i++) client.Ok($"SET k{i} v");
        client.Say("GET k1\nGET k2\nGET k3\nGET nothing");
    }

    private static string ScriptText(string json) => $"`{json.Replace("\\", "\\\\", StringComparison.Ordinal)}`";

    private static string Address(TestServer kv) => $"http://127.0.0.1:{((IPEndPoint)kv.EndPoint).Port}/";
}
