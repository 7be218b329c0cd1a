using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Patterns;
using Kv.Tests.Dispatch;
using Kv.Tests.Harness;

namespace Kv.Tests.Configuration;

/// <summary>Options and globs beside a real redis-server 7.0.15. Each intended difference has its reason
/// here.</summary>
public class ReferenceOptionsTests
{
    private const string Harness = "the harness gives the reference a value of its own";

    /// <summary>Defaults that differ, and why.</summary>
    private static readonly Dictionary<string, string> OtherDefaults = new()
    {
        ["bind"] = "only loopback addresses, until someone asks for more",
        ["io-threads"] = "an alias of worker-threads, where 0 takes all CPUs",
        ["port"] = Harness, ["dir"] = Harness, ["proto-max-bulk-len"] = Harness, ["enable-debug-command"] = Harness,
    };

    /// <summary>Options of ours that the reference does not have.</summary>
    private static readonly string[] OurOwn =
    [
        "auth-timeout", "http-on-port", "metrics-port", "log-format",
        "worker-threads", "worker-spin-us", "transport", "index", "no-pubsub", "no-obj",
        "proto-max-args",
        "aof-buffer-limit", "feed-buffer-limit",
        "subscription-limit", "multi-queue-limit", "watch-limit", "script-time-limit", "script-memory-limit",
        "script-cache-limit",
        "proto-inline-max-size", "max-key-bytes", "max-reply-bytes", "client-output-pause",
        // of 7.2
        "set-max-listpack-entries", "set-max-listpack-value", "cluster-announce-human-nodename", "locale-collate",
        // of 7.4
        "aof-rewrite-cpulist", "bgsave-cpulist", "bio-cpulist", "hide-user-data-from-log",
        "max-new-connections-per-cycle",
        "max-new-tls-connections-per-cycle", "server-cpulist",
        // of 8.6
        "tls-auth-clients-user",
    ];

    /// <summary>Options whose CONFIG SET accepts other values than the reference's, and why.</summary>
    private static readonly Dictionary<string, string> OtherRules = new()
    {
        ["maxclients"] = "at most 2147483647, and the reference asks the system for so many descriptors",
        ["proto-max-bulk-len"] = "at most 512mb, as long as a value can be",
        ["maxmemory"] = "the reference lets sizes overflow",
        ["maxmemory-clients"] = "the reference lets sizes overflow",
        ["cluster-link-sendbuf-limit"] = "the reference lets sizes overflow",
        ["loglevel"] = "the reference of that version has no 'nothing'",
        ["bind"] = "moves only through a handler", ["port"] = "moves only through a handler",
        ["appendonly"] = "moves only through a handler",
        ["dir"] = "protected; the reference changes its directory",
        ["proc-title-template"] = "there is no title to set, so the template is not checked",
        ["requirepass"] = "would lock the test out",
        ["enable-debug-command"] = Harness,
        ["activedefrag"] = "the reference's allocator may not be able to",
        ["repl-backlog-size"] = "the reference raises it to 16 KB",
        ["bind-source-addr"] = "not checked, nothing binds to it",
    };

    [Fact]
    public void Knows_every_option_of_the_reference_with_its_default()
    {
        using var redis = RedisServer.Start();
        using var client = redis.Connect();
        var items = client.Ok("CONFIG GET *").Items!;
        var theirs = items.Chunk(2).ToDictionary(p => p[0].String, p => p[1].String);
        var ours = OptionTable.Match(AsStarted(), ["*"]).ToDictionary(p => p.Name, p => p.Value);
        Assert.Empty(theirs.Keys.Except(ours.Keys));
        Assert.Equal(OurOwn.Order(), ours.Keys.Except(theirs.Keys).Order());
        foreach (var (name, value) in theirs)
        {
            if (OtherDefaults.ContainsKey(name)) continue;
            Assert.Equal((name, value), (name, ours[name]));
        }
    }

    /// <summary>As the reference is started here: without save points.</summary>
    private static ServerOptions AsStarted() => new() { Save = "" };

    [Fact]
    public void Accepts_and_refuses_what_the_reference_does_in_its_words()
    {
        using var redis = RedisServer.Start();
        using var client = redis.Connect();
        string[] probes =
        [
            "junk", "-1", "0", "1", "7", "yes", "no", "YES", " 1", "+1", "01", "1.5", "1kb", "50%", "101%", "",
            "none", "local",
            "1 2 3", "60 1", "normal 0 0 0", "normal 1 2", "slave 1mb 2 3 pubsub 3 4 5", "x 0 0 0", "KEA",
            "gK$", "99 99.9",
            "save now", "save nosave", "everysec", "2147483648", "-2147483649", "9223372036854775808",
            "99999999999999999999",
        ];
        var wrong = new List<string>();
        foreach (var (name, original) in OptionTable.Match(AsStarted(), ["*"]))
        {
            if (OurOwn.Contains(name) || OtherRules.ContainsKey(name) || name is "io-threads") continue;
            if (OptionTable.Find(name)!.Class == OptionClass.Refused
                || name.StartsWith("tls-", StringComparison.Ordinal)) continue;
            var options = AsStarted();
            foreach (string probe in probes)
            {
                string reply = Set(client, name, probe),
                    error = OptionTable.TrySet(options, [(name, probe)]).Error ?? "OK";
                string theirs = client.Ok($"CONFIG GET {name}").Items![1].String;
                string ours = OptionTable.Find(name)!.Read(options);
                bool isWithoutEffect = reply == "OK"
                    && error.Contains(" - the option has no effect yet", StringComparison.Ordinal);
                if (isWithoutEffect) Set(client, name, original);
                else if (reply != error || ours != theirs)
                    wrong.Add($"{name} '{probe}': {reply} [{theirs}], ours {error} [{ours}]");
                if (ours != original && reply == "OK") Set(client, name, original);
                options = AsStarted();
            }
        }

        Assert.True(wrong.Count == 0, string.Join("\n", wrong));
    }

    [Fact]
    public void Globs_choose_the_keys_that_the_reference_chooses()
    {
        using var redis = RedisServer.Start();
        using var client = redis.Connect();
        var random = Seed.NewRandom();
        string[] texts = [.. Enumerable.Range(0, 200).Select(_ => GlobPatternTests.RandomText(random, "ab]^-[\\c", 6))
            .Where(text => text.Length > 0).Distinct()];
        foreach (string text in texts) client.Command("SET"u8.ToArray(), Bytes(text), "v"u8.ToArray());
        for (int round = 0; round < 3_000; round++)
        {
            string pattern = GlobPatternTests.RandomText(random, "ab*?[]^-\\c", 9);
            var theirs = client.Command("KEYS"u8.ToArray(), Bytes(pattern)).Items!.Select(r => r.String)
                .Order(StringComparer.Ordinal);
            var ours = texts.Where(t => GlobPattern.IsMatch(Bytes(pattern), Bytes(t))).Order(StringComparer.Ordinal);
            if (!theirs.SequenceEqual(ours))
                Assert.Fail($"'{pattern}': {string.Join(' ', theirs)}, ours {string.Join(' ', ours)}. {Seed.Hint}");
        }
    }

    private static string Set(RespClient client, string name, string value) =>
        client.Command("CONFIG"u8.ToArray(), "SET"u8.ToArray(), Bytes(name), Bytes(value)).String;

    private static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);
}
