using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Commands;

/// <summary>Very many members at random, in steps: as many as were asked for, different ones where that was asked, each
/// one there, with what belongs to it.</summary>
public sealed class LongSampleTests
{
    private const int Many = 40_000, Few = 20;

    private static readonly string[] Kinds =
        ["set", "hash", "scores", "small-set", "small-hash", "small-scores", "integers"];

    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Members_at_random_are_as_many_as_asked_for_and_different(int version)
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var other = new WindowClient(instance);
        client.Run($"HELLO {version}");
        foreach (string kind in Kinds)
        {
            var content = Fill(client, kind);
            // An eighth is what divides those that are drawn from those that are chosen in a walk.
            foreach (int count in new[] { 4097, (Many / 8) - 1, Many / 8, 20_000, Many - 1, Many, Many + 1,
                -4097, -20_000 })
            {
                foreach (bool withValues in new[] { false, true })
                {
                    if (withValues && NameOf(kind) == "SRANDMEMBER") continue;
                    long external = instance.Server.Store.Budget.ExternalBytes;
                    client.Between = _ => Assert.Equal("+PONG\r\n", other.Run("PING"));
                    CheckSample(client, kind, content, count, withValues, version);
                    client.Between = null;
                    if (count < 0 || content.Count == Many)
                        Assert.True(client.Steps >= 2, $"{kind} {count}: {client.Steps} steps");
                    Assert.Equal(external, instance.Server.Store.Budget.ExternalBytes);
                }
            }

            instance.Server.Store.CheckIntegrity();
        }
    }

    [Fact]
    public void Without_memory_for_what_has_been_drawn_they_are_chosen_in_a_walk()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        foreach (string kind in Kinds)
        {
            var content = Fill(client, kind);
            int asked = 0;
            instance.Server.Store.Budget.Refuse = () => ++asked > 0;
            CheckSample(client, kind, content, 4500, withValues: false, version: 2);
            instance.Server.Store.Budget.Refuse = null;
            Assert.Equal(content.Count == Many, asked > 0);
        }
    }

    [Fact]
    public void A_client_that_leaves_leaves_no_memory_behind()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        foreach (string kind in Kinds)
        {
            Fill(client, kind);
            long external = instance.Server.Store.Budget.ExternalBytes;
            foreach (int count in new[] { 4500, 30_000, -9000 })
            {
                foreach (int at in new[] { 1, 2, 4 })
                {
                    using var leaver = new WindowClient(instance);
                    leaver.LeaveAfter(at);
                    try
                    {
                        leaver.Run($"{NameOf(kind)} k {count}");
                    }
                    catch (OperationCanceledException)
                    {
                    }
                }
            }

            Assert.Equal(external, instance.Server.Store.Budget.ExternalBytes);
            Assert.Equal(":1\r\n", client.Run("DEL k"));
        }
    }

    [Fact]
    public void Fields_that_have_expired_are_not_among_them()
    {
        var clock = new TestClock();
        using var instance = KvInstance.Start(clock);
        instance.Server.Store.ActiveExpiry = false;
        using var client = new WindowClient(instance);
        foreach (int living in new[] { 10_000, 3, 0 })
        {
            foreach (int count in new[] { 20_000, 5000, 2, -9000, -2 })
            {
                Fill(client, "hash");
                for (int i = living; i < Many; i += 1000)
                {
                    int some = Math.Min(1000, Many - i);
                    client.Run(
                        $"HPEXPIRE k 1000 FIELDS {some} "
                        + $"{string.Join(' ', Enumerable.Range(i, some).Select(n => $"f{n}"))}");
                }

                clock.Advance(1000);
                var content = Enumerable.Range(0, living).ToDictionary(n => $"f{n}", n => $"v{n}");
                CheckSample(client, "hash", content, count, withValues: true, version: 2);
                Assert.True(client.Steps >= 2, $"{client.Steps} steps");
                Assert.Equal($":{living}\r\n", client.Run("HLEN k"));
                Assert.Equal(living == 0 ? ":0\r\n" : ":1\r\n", client.Run("EXISTS k"));
                instance.Server.Store.CheckIntegrity();
            }
        }
    }

    [Fact]
    public void Who_watches_the_key_hears_of_nothing()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        using var watcher = new WindowClient(instance);
        foreach (string kind in Kinds)
        {
            Fill(client, kind);
            watcher.Run("WATCH k");
            client.Run($"{NameOf(kind)} k -9000");
            client.Run($"{NameOf(kind)} k 9000");
            watcher.Run("MULTI");
            Assert.Equal("*0\r\n", watcher.Run("EXEC"));
        }
    }

    private static void CheckSample(WindowClient client, string kind, Dictionary<string, string> content, int count,
        bool withValues, int version)
    {
        string[] words = [NameOf(kind), "k", $"{count}",
            .. withValues ? [NameOf(kind) == "HRANDFIELD" ? "WITHVALUES" : "WITHSCORES"] : Array.Empty<string>()];
        var reply = client.Call([.. words.Select(word => System.Text.Encoding.ASCII.GetBytes(word))]);
        Assert.Equal('*', reply.Type);
        var items = reply.Items!;
        bool isFlat = withValues && version == 2;
        string[] names = withValues && !isFlat ? [.. items.Select(item => item.Items![0].String)]
            : [.. items.Where((_, i) => !isFlat || i % 2 == 0).Select(item => item.String)];
        Assert.Equal(content.Count == 0 ? 0 : count < 0 ? -count : Math.Min(count, content.Count), names.Length);
        if (count > 0) Assert.Equal(names.Length, names.Distinct().Count());
        for (int i = 0; i < names.Length; i++)
        {
            Assert.True(content.TryGetValue(names[i], out string? value), $"{names[i]} is not in the {kind}");
            if (withValues) Assert.Equal(value, isFlat ? items[(2 * i) + 1].String : items[i].Items![1].String);
        }
    }

    private static string NameOf(string kind) => kind.EndsWith("hash", StringComparison.Ordinal)
        ? "HRANDFIELD" : kind.EndsWith("scores", StringComparison.Ordinal) ? "ZRANDMEMBER" : "SRANDMEMBER";

    private static Dictionary<string, string> Fill(WindowClient client, string kind)
    {
        client.Run("DEL k");
        int count = kind.StartsWith("small", StringComparison.Ordinal) || kind == "integers" ? Few : Many;
        string name = NameOf(kind), stem = kind == "integers" ? "" : name == "HRANDFIELD" ? "f" : "m";
        for (int i = 0; i < count; i += 1000)
        {
            var range = Enumerable.Range(i, Math.Min(1000, count - i));
            client.Run(name == "HRANDFIELD" ? "HSET k " + string.Join(' ', range.Select(n => $"{stem}{n} v{n}"))
                : name == "ZRANDMEMBER" ? "ZADD k " + string.Join(' ', range.Select(n => $"{n} {stem}{n}"))
                : "SADD k " + string.Join(' ', range.Select(n => $"{stem}{n}")));
        }

        return Enumerable.Range(0, count).ToDictionary(n => $"{stem}{n}", n => name == "HRANDFIELD" ? $"v{n}" : $"{n}");
    }
}
