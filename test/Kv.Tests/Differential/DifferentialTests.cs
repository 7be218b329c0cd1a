using System.Globalization;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>Random commands to Kv and to a real redis-server, side by side: replies and the state at the end are
/// equal.</summary>
/// <remarks>
/// KV_DIFF_COMMANDS=10000000 runs that many of a fresh seed (KV_SEED repeats one). A difference is replayed from
/// empty servers, must show again, and is printed as the shortest redis-cli script that shows it.
/// </remarks>
public class DifferentialTests(ITestOutputHelper output)
{
    private const int BatchesInRound = 20, CommandsInBatch = 64;

    // What the random commands are drawn from: each name once, those that change most keys several times.
    private static readonly string[] Names =
        [.. CommandGenerators.All.Keys, .. Enumerable.Repeat(
            "SET GET APPEND SETRANGE INCRBY EXPIRE GETEX COPY RENAME".Split(' '), 2).SelectMany(n => n),
            .. Enumerable.Repeat("XADD", 6), .. Enumerable.Repeat("XREADGROUP", 4), .. Enumerable.Repeat("EXEC", 8)];

    public static TheoryData<int, ulong> FixedSeeds()
    {
        var seeds = new TheoryData<int, ulong>();
        for (ulong seed = 1; seed <= 3; seed++)
            for (int resp = 2; resp <= 3; resp++)
                seeds.Add(resp, seed);
        return seeds;
    }

    [Theory]
    [MemberData(nameof(FixedSeeds))]
    public void Kv_answers_random_commands_as_the_reference_does(int resp, ulong seed)
    {
        using var kv = StartKv();
        using var redis = StartRedis();
        for (int round = 0; round < 4; round++) CheckRound(kv, redis, resp, seed, round, new Dictionary<string, int>());
    }

    // What belongs to a connection, or to several commands, is refused there; those that wait do not.
    [Theory]
    [MemberData(nameof(FixedSeeds))]
    public void Scripts_call_random_commands_as_those_of_the_reference_do(int resp, ulong seed)
    {
        using var kv = StartKv();
        using var redis = StartRedis();
        CheckRound(kv, redis, resp, seed, 0, new Dictionary<string, int>(), calledByScripts: true);
    }

    [Fact]
    public void Kv_answers_a_fresh_seed_as_the_reference_does()
    {
        using var kv = StartKv();
        using var redis = StartRedis();
        long most = Environment.GetEnvironmentVariable("KV_DIFF_COMMANDS") is { Length: > 0 } given
            ? long.Parse(given, CultureInfo.InvariantCulture)
            : long.MaxValue;
        var time = TimeBudget.OfSeconds(Requires.IsCi ? 10 : 5);
        var successes = new Dictionary<string, int>();
        long commands = 0;
        for (int round = 0; most == long.MaxValue ? time.Continues : commands < most; round++)
        {
            // The first round with the small limits that the servers were started with.
            string limits = round == 0 ? "" : SetLimits(kv, redis, Seed.NewRandom(Seed.Value, -round));
            CheckRound(kv, redis, 2 + round % 2, Seed.Value, round, successes, limits);
            commands += BatchesInRound * CommandsInBatch;
        }

        output.WriteLine($"{commands} commands without a difference; {Seed.Hint}");
        output.WriteLine("successful replies: "
            + string.Join(", ", successes.OrderBy(s => s.Value).Select(s => $"{s.Key} {s.Value}")));
        if (commands >= 4_000_000)      // the rarest, DISCARD and LSET, succeed once in 2,000 commands
            Assert.DoesNotContain(CommandGenerators.All.Keys.Except(["NOSUCH", "CLUSTER"]),
                name => successes.GetValueOrDefault(name) < 1000);
    }

    /// <summary>The comparison itself: two equal servers differ in nothing, so what it reports is a
    /// difference.</summary>
    [Fact]
    public void The_reference_answers_random_commands_as_itself()
    {
        using var one = StartRedis();
        using var other = StartRedis();
        for (int resp = 2; resp <= 3; resp++)
            CheckRound(one, other, resp, Seed.Value, 0, new Dictionary<string, int>());
    }

    [Fact]
    public void A_difference_is_found_and_shrunk_to_the_commands_that_show_it()
    {
        using var one = StartRedis();
        using var other = RedisServer.Start("--rename-command", "STRLEN", "DIFFERENT");
        using var duel = new Duel(one, other, 2);
        string[] script = ["SET a 1", "APPEND b 2", "MGET a b", "STRLEN a", "GET b"];
        var found = duel.Replay([.. script.Select(RespText.Split)]);
        Assert.NotNull(found);
        Assert.Equal("STRLEN a", string.Join('\n', duel.Shrink(found).Commands.Select(RespText.Line)));
    }

    [Fact]
    public void Every_command_of_Kv_is_drawn_or_has_a_reason_not_to_be()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        var without = client.Ok("COMMAND LIST").Items!.Select(item => item.String.ToUpperInvariant())
            .Where(name => !name.Contains('|', StringComparison.Ordinal))
            .Except(CommandGenerators.All.Keys).Except(CommandGenerators.NotDrawn.Keys).Order(StringComparer.Ordinal);
        Assert.Equal("", string.Join(' ', without));
    }

    // Small limits: the random collections pass them in both directions all the time.
    private static readonly string[] Limits =
    [
        "--hash-max-listpack-entries", "8", "--hash-max-listpack-value", "60", "--set-max-intset-entries", "8",
        "--zset-max-listpack-entries", "8", "--zset-max-listpack-value", "60", "--list-max-listpack-size", "8",
        "--stream-node-max-entries", "6", "--stream-node-max-bytes", "300",
    ];

    private static TestServer StartKv() => RemoteServer.Address is { } address
        ? new RemoteServer(address)
        : KvInstance.Start(["--proto-max-bulk-len", "1mb", "--set-max-listpack-entries", "8", .. Limits]);

    // It looks for waits that are over in its timer: 500 times a second.
    private static TestServer StartRedis() => RedisServer.Start(["--hz", "500", .. Limits]);

    // Every option at a random value, so that most collections of a round have one form or the other, or pass from one
    // to the other. Returns the commands that set them.
    private static string SetLimits(TestServer ours, TestServer theirs, Random random)
    {
        using RespClient one = ours.Connect(), other = theirs.Connect();
        var set = new StringBuilder();
        foreach (string option in SmallLimits.Options)
        {
            string value = random.Next(3) == 0 ? "8" : SmallLimits.Draw(option, random);
            SmallLimits.Set(one, other, option, value);
            set.AppendLine(CultureInfo.InvariantCulture, $"  CONFIG SET {option} {value}");
        }

        return set.ToString();
    }

    private static void CheckRound(
        TestServer ours, TestServer theirs, int resp, ulong seed, int round, Dictionary<string, int> successes,
        string limits = "", bool calledByScripts = false)
    {
        var random = Seed.NewRandom(seed, round);
        var gen = new Gen(random);
        using var duel = new Duel(ours, theirs, resp);
        duel.Begin();
        var sent = new List<byte[][]>();
        for (int batch = 0; batch <= BatchesInRound; batch++)
        {
            var commands = batch == BatchesInRound
                ? [.. duel.StateQueries()]
                : Enumerable.Range(0, CommandsInBatch)
                    .SelectMany(_ => CommandGenerators.Next(gen, Names[random.Next(Names.Length)]))
                    .Select(command => calledByScripts ? ScriptCall.Of(command, random) : command).ToArray();
            int index = duel.Run(commands, random, (command, reply) => Count(successes, command, reply), out var mine,
                out var other);
            sent.AddRange(index < 0 ? commands : commands.Take(index + 1));
            if (index >= 0) Report(duel, new Difference(sent, mine, other), resp, seed, round, limits);
        }
    }

    private static void Report(Duel duel, Difference seen, int resp, ulong seed, int round, string limits)
    {
        // Only what shows again counts: a clock tick between two servers is not a difference.
        string where = $"RESP{resp}, seed {seed}, round {round}; {Seed.HintFor(seed)}";
        var again = duel.Replay(seen.Commands) ?? duel.Replay(seen.Commands, 1);
        if (again is not null) Assert.Fail($"{where}\n{limits}{Duel.Describe(duel.Shrink(again))}");
        Console.Error.WriteLine($"{where}: a difference did not show again: {RespText.Line(seen.Commands[^1])}");
        duel.Begin();
    }

    private static void Count(Dictionary<string, int> successes, byte[][] command, Reply reply)
    {
        if (reply.IsError) return;
        string name = Reply.Latin(command[0]).ToUpperInvariant();
        successes[name] = successes.GetValueOrDefault(name) + 1;
    }
}
