using System.Globalization;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Commands over more keys than a turn works on: they answer as short ones do, and happen at one
/// instant.</summary>
public class ManyKeysTests
{
    private const int Keys = 3000;

    // 1,200 values of 60,000 bytes: 1,024 of them, 61 MB, were copied in one turn.
    [Fact]
    public void A_step_of_MGET_ends_by_bytes_too()
    {
        using var instance = KvInstance.Start(new Kv.Tests.Storage.TestClock());
        using var client = new WindowClient(instance);
        client.Run($"SET k {new string('v', 60_000)}");
        string line = $"MGET{string.Concat(Enumerable.Repeat(" k", 1200))}";
        int length = client.Run(line).Length;
        Assert.Equal(1200 * (60_000 + "$60000\r\n\r\n".Length) + "*1200\r\n".Length, length);
        // Of 256 KB each, and what is passed on.
        Assert.True(client.Steps > 280, $"{client.Steps} steps");
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void They_answer_as_short_ones_do(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var client = server.Connect();
        string large = new('x', 100_000);
        client.Ok("SET other 1");
        Assert.Equal("OK", client.Command(Pairs("MSET", Keys, i => i == 5 ? large : $"v{i}")).String);
        var values = client.Command(Words("MGET", Names(Keys), ["none"], Names(10))).Items!.ToArray();
        Assert.Equal(Keys + 11, values.Length);
        for (int i = 0; i < Keys; i++) Assert.Equal(i == 5 ? large : $"v{i}", values[i].String);
        Assert.True(values[Keys].IsNull);
        Assert.Equal("v9", values[^1].String);
        Assert.Equal(Keys + 3, client.Command(Words("EXISTS", Names(Keys), ["none", "k0", "k1", "k1"])).Integer);
        Assert.Equal(0,
            client.Command([.. Pairs("MSETNX", Keys, _ => "w", "new"), "k7"u8.ToArray(), "w"u8.ToArray()]).Integer);
        Assert.Equal(Keys + 1, client.Ok("DBSIZE").Integer);
        Assert.Equal(1, client.Command(Pairs("MSETNX", Keys, _ => "w", "new")).Integer);
        Assert.Equal(Keys, client.Command(Words("DEL", Names(Keys), Names(Keys))).Integer);
        Assert.Equal(Keys,
            client.Command(Words("UNLINK", [.. Enumerable.Range(0, Keys).Select(i => $"new{i}")])).Integer);
        Assert.Equal("1", client.Ok("GET other").String);
        Assert.Equal(1, client.Ok("DBSIZE").Integer);
        // A key that comes again gets its last value; all keys one and the same.
        Assert.Equal("OK", client.Command(
            Words("MSET", [.. Enumerable.Range(0, Keys).SelectMany(i => new[] { "same", $"{i}" })])).String);
        Assert.Equal($"{Keys - 1}", client.Ok("GET same").String);
        client.Ok("HELLO 3");
        Assert.True(client.Command(Words("MGET", Names(Keys))).Items!.All(value => value.IsNull));
    }

    // On one worker, whose next turn would go on with the long command; and on two.
    [Theory]
    [InlineData("epoll", "1")]
    [InlineData("epoll", "2")]
    [InlineData("pipelines", "1")]
    [InlineData("pipelines", "2")]
    public async Task A_long_MGET_never_sees_half_of_a_long_MSET_while_others_use_the_keys(
        string transport, string workers)
    {
        Assert.SkipUnless(transport != "epoll" || OperatingSystem.IsLinux(), "epoll is Linux'");
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", workers);
        using var stop = new CancellationTokenSource();
        int rounds = TimeBudget.Count(30);
        var tasks = new List<Task>();
        for (int writer = 0; writer < 2; writer++)
        {
            string letter = writer == 0 ? "a" : "b";
            tasks.Add(Run(client =>
            {
                for (int round = 0; round < rounds; round++)
                {
                    string value = letter + new string('-', (round * 7) % 60)
                        + round.ToString(CultureInfo.InvariantCulture);
                    Assert.Equal("OK", client.Command(Pairs("MSET", Keys, _ => value)).String);
                    if (round % 5 == 4) Assert.True(client.Command(Words("DEL", Names(Keys))).Integer is 0 or Keys);
                }
            }));
        }

        var writers = Task.WhenAll(tasks.ToArray());
        var others = new[]
        {
            Loop(client =>
            {
                var values = client.Command(Words("MGET", Names(Keys))).Items!;
                Assert.Single(values.Select(value => value.IsNull ? null : value.String).Distinct());
            }),
            Loop(client =>
            {
                // Short ones, in another order than that of the locks.
                var values = client.Ok("MGET k2999 k0 k17 k1500").Items!;
                Assert.Single(values.Select(value => value.IsNull ? null : value.String).Distinct());
                client.Ok("GET k123");
                client.Ok("EXPIRE k5 1000");
                client.Ok("KEYS k1*");
            }),
            Loop(client =>
            {
                client.Ok("MSET z1 1 z2 2");
                client.Ok("SET z1 3");
                Assert.True(client.Command(Words("EXISTS", Names(Keys))).Integer is 0 or Keys);
            }),
        };
        _ = writers.ContinueWith(_ => stop.Cancel(), CancellationToken.None, TaskContinuationOptions.None,
            TaskScheduler.Default);
        // else somebody waits for ever
        await Task.WhenAll([writers, .. others])
            .WaitAsync(TimeSpan.FromMinutes(5), TestContext.Current.CancellationToken);

        Task Run(Action<RespClient> run) => Task.Factory.StartNew(
            () =>
            {
                using var client = new RespClient(server.EndPoint, 120_000);
                run(client);
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default);

        Task Loop(Action<RespClient> look) => Run(client =>
        {
            do look(client);
            while (!stop.IsCancellationRequested);
        });
    }

    [Fact]
    public void A_client_that_leaves_in_the_middle_leaves_nothing_locked_and_nothing_charged()
    {
        string words = string.Join(' ', Enumerable.Range(0, Keys).Select(i => $"k{i} v{i}"));
        // After any number of turns.
        for (int turns = 1; ; turns++)
        {
            using var rig = new WindowRig($"MSET {words}");
            long before = rig.UsedBytes;
            bool done = false;
            for (int i = 0; i < turns && !done; i++)
            {
                done = rig.Run().Length > 0;        // and has begun the pipeline anew
            }

            if (!done) Assert.True(rig.UsedBytes - before >= Keys * 80, "the copies and lists are not charged");
            rig.End();
            Assert.False(rig.IsInSteps);
            // The store's thread lets go of the keys.
            Assert.Equal(0, rig.Keys % Keys);
            Assert.Equal(0, rig.Other("EXISTS k1 k2999").Integer % 2);
            if (!done)
                Eventually.Holds(() => rig.UsedBytes - before < Keys * 80,
                    () => $"{rig.UsedBytes - before} bytes more than before");
            if (done) return;
        }
    }

    private static string[] Names(int count) => [.. Enumerable.Range(0, count).Select(i => $"k{i}")];

    private static byte[][] Pairs(string command, int count, Func<int, string> value, string stem = "k") =>
        Words(command, [.. Enumerable.Range(0, count).SelectMany(i => new[] { $"{stem}{i}", value(i) })]);

    private static byte[][] Words(string command, params string[][] words) =>
        [Encoding.Latin1.GetBytes(command), .. words.SelectMany(list => list).Select(Encoding.Latin1.GetBytes)];
}
