using System.Text;
using Kv.Tests.Differential;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>What the feed says, done by a real redis-server, gives the data that Kv has.</summary>
public class FeedComparisonTests
{
    private const int CommandsInBatch = 64, Batches = 20;

    private static readonly string[] Names = [.. CommandGenerators.All.Keys.Except(["SELECT"]), "XADD", "XREADGROUP"];

    private static readonly string[] Limits = ["--proto-max-bulk-len", "1mb", "--enable-debug-command", "yes"];

    public static TheoryData<ulong> FixedSeeds() => [1, 2, 3, 4];

    [Theory]
    [MemberData(nameof(FixedSeeds))]
    public void Random_commands_have_the_effects_that_the_feed_says(ulong seed) => Check(seed, byScripts: false);

    [Theory]
    [MemberData(nameof(FixedSeeds))]
    public void Scripts_have_the_effects_that_the_feed_says(ulong seed) => Check(seed, byScripts: true);

    [Fact]
    public void Random_commands_of_a_fresh_seed_have_the_effects_that_the_feed_says() =>
        Check(Seed.Value, byScripts: false);

    private static void Check(ulong seed, bool byScripts)
    {
        using var kv = KvInstance.Start(Limits);
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        kv.Server.Feed.Attach(sink);
        var random = Seed.NewRandom(seed, 0);
        var gen = new Gen(random);
        using var client = kv.Connect(2, timeoutMs: 60_000);
        for (int batch = 0; batch < Batches; batch++)
        {
            var commands = Enumerable.Range(0, CommandsInBatch)
                .SelectMany(_ => CommandGenerators.Next(gen, Names[random.Next(Names.Length)]))
                .Select(command => byScripts ? ScriptCall.Of(command, random) : command).ToArray();
            client.Send(commands.SelectMany(RespText.Encode).ToArray());
            foreach (byte[][] command in commands) client.Read();
            FeedState.AssertEqual(kv, redis, sink, $"seed {seed}, batch {batch}; {Seed.HintFor(seed)}", commands);
        }
    }
}
