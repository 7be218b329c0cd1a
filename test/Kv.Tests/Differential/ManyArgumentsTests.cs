using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>Commands of thousands of arguments, which take steps here, answer and leave what they do on a real
/// server.</summary>
public sealed class ManyArgumentsTests
{
    private static readonly string[] Looks =
        ["ZRANGE z 0 -1 WITHSCORES", "ZRANGE g 0 -1 WITHSCORES", "LRANGE l 0 -1", "GET p", "HLEN h", "SCARD s"];

    private static readonly string[] Rules =
        ["", "NX ", "XX ", "GT ", "LT ", "XX GT ", "XX LT CH ", "CH ", "NX CH ", "NX GT ", "XX NX ", "INCR "];

    private static readonly string[] Scores = ["inf", "-inf", "1e5", "0x10", "7", "0", "0.5"];

    [Fact]
    public void They_answer_and_leave_the_same()
    {
        using TestServer kv = RemoteServer.Address is { } address ? new RemoteServer(address) : KvInstance.Start(),
            redis = RedisServer.Start();
        using RespClient ours = kv.Connect(), theirs = redis.Connect();
        Random random = Seed.NewRandom(930);
        ours.Ok("FLUSHALL");
        for (int i = 0, rounds = TimeBudget.Count(100); i < rounds; i++)
        {
            string line = Next(random);
            Check(ours, theirs, line, line);
            foreach (string look in Looks) Check(ours, theirs, look, line);
            if (random.Next(8) == 0) Check(ours, theirs, $"DEL {"zglp"[random.Next(4)]}", line);
        }
    }

    private static void Check(RespClient ours, RespClient theirs, string line, string last) =>
        Assert.True(ours.Command(line).IsSame(theirs.Command(line)),
            $"{line[..Math.Min(60, line.Length)]} behind {last[..Math.Min(60, last.Length)]}; {Seed.Hint}");

    private static string Next(Random random)
    {
        int count = random.Next(1800, 5000);
        string members = Words(count, () => $"m{random.Next(6000)}");
        switch (random.Next(8))
        {
            case 0: return $"SADD s {members}";
            case 1: return $"{(random.Next(2) == 0 ? "HSET" : "HMSET")} h "
                + $"{Words(count, () => $"f{random.Next(6000)} v")}{(random.Next(10) == 0 ? " f" : "")}";
            case 2: return $"PFADD p {Words(count, () => $"e{random.Next(1_000_000)}")}";
            case 3: return $"GEOADD g {(random.Next(3) switch { 0 => "XX ", 1 => "CH ", _ => "" })}"
                + $"{Words(count, () => Place(random))}";
            case 4: return $"{(random.Next(4) switch { 0 => "LPUSHX", 1 => "RPUSHX", 2 => "LPUSH", _ => "RPUSH" })} "
                + $"{(random.Next(10) == 0 ? 'z' : 'l')} {members}";
            default: return $"ZADD z {Rules[random.Next(Rules.Length)]}"
                + $"{Words(count, () => $"{Score(random)} m{random.Next(6000)}")}{(random.Next(20) == 0 ? " 1" : "")}";
        }
    }

    private static string Words(int count, Func<string> next) =>
        string.Join(' ', Enumerable.Range(0, count).Select(_ => next()));

    // Now and then one that is none.
    private static string Score(Random random) => random.Next(20_000) == 0 ? "nan" : random.Next(4) == 0
        ? Scores[random.Next(Scores.Length)] : (random.Next(-4000, 4000) / 4.0).ToString(CultureInfo.InvariantCulture);

    private static string Place(Random random) =>
        string.Create(CultureInfo.InvariantCulture,
            $"{random.Next(-179, 180)}.25 {(random.Next(20_000) == 0 ? 89 : random.Next(-84, 85))}.5 "
            + $"m{random.Next(6000)}");
}
