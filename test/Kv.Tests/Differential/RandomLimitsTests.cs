using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>Whatever the options say of how small collections are kept, what they hold is what a real server
/// holds.</summary>
/// <remarks>Sizes go from a few to thousands, so that every form becomes every other, in one turn and in
/// steps.</remarks>
public sealed class RandomLimitsTests
{
    private static readonly string[] Looks =
        ["SMEMBERS s", "SMEMBERS t", "SMEMBERS u", "HGETALL h", "LRANGE l 0 -1", "ZRANGE z 0 -1 WITHSCORES",
            "XRANGE x - +", "PFCOUNT p"];

    private long _entries;

    [Fact]
    public void Collections_hold_the_same_whatever_the_limits()
    {
        using TestServer kv = RemoteServer.Address is { } address ? new RemoteServer(address) : KvInstance.Start(),
            redis = RedisServer.Start();
        using RespClient ours = kv.Connect(), theirs = redis.Connect();
        Random random = Seed.NewRandom(1200);
        ours.Ok("FLUSHALL");
        // From the report: the set was 5,000 times the empty member.
        Check(ours, theirs, "CONFIG SET set-max-intset-entries 3000", "");
        Check(ours, theirs, $"SADD s {Words(5000, i => $"{i}")}", "");
        Check(ours, theirs, "SMEMBERS s", "");
        string last = "";
        for (int i = 0, rounds = TimeBudget.Count(150); i < rounds; i++)
        {
            if (random.Next(2) == 0)
            {
                string option = SmallLimits.Options[random.Next(SmallLimits.Options.Length)];
                SmallLimits.Set(ours, theirs, option, SmallLimits.Draw(option, random));
            }

            string line = Next(random);
            last = $"{line[..Math.Min(60, line.Length)]} behind {last[..Math.Min(60, last.Length)]}";
            Check(ours, theirs, line, last);
            foreach (string look in Looks) Check(ours, theirs, look, last);
            if (random.Next(6) == 0) Check(ours, theirs, $"DEL {"stuhlzxp"[random.Next(8)]}", last);
        }
    }

    private static void Check(RespClient ours, RespClient theirs, string line, string last)
    {
        byte[][] command = RespText.Split(line);
        Reply mine = ours.Command(command), other = theirs.Command(command);
        Assert.True(ReplyComparer.IsEqual(command, mine, other),
            $"{line[..Math.Min(60, line.Length)]} behind {last}; {Seed.Hint}");
    }

    private string Next(Random random)
    {
        int count = random.Next(5) switch { 0 => random.Next(1, 10), 1 => random.Next(10, 200),
            2 => random.Next(200, 2000), _ => random.Next(2000, 7000) };
        int range = random.Next(3) switch { 0 => 100, 1 => 3000, _ => 12_000 };
        char set = "stu"[random.Next(3)];
        string members = Words(count, _ => Member(random, range));
        return random.Next(22) switch
        {
            0 or 1 or 2 => $"SADD {set} {Words(count, _ => Number(random, range))}",
            3 => $"SADD {set} {members}",
            4 => $"SREM {set} {members}",
            5 => $"SREM {set} {Words(count, _ => Number(random, range))}",
            6 => $"SMISMEMBER {set} {members}",
            7 => $"{(random.Next(3) switch { 0 => "SUNIONSTORE", 1 => "SINTERSTORE", _ => "SDIFFSTORE" })} {set} "
                + $"{"stu"[random.Next(3)]} {"stu"[random.Next(3)]}",
            8 => $"SMOVE {set} {"stu"[random.Next(3)]} {Number(random, range)}",
            9 => $"{(random.Next(2) == 0 ? "SUNION" : "SDIFF")} s t u",
            10 => $"COPY {set} {"stu"[random.Next(3)]} REPLACE",
            11 => "HSET h " + Words(count,
                _ => $"{Member(random, range)} {new string('v', random.Next(random.Next(4) == 0 ? 300 : 20))}."),
            12 => $"HDEL h {members}",
            13 => $"HMGET h {members}",
            14 => $"ZADD z {Words(count, _ => $"{random.Next(-50, 50)} {Member(random, range)}")}",
            15 => $"ZREM z {members}",
            16 => $"{(random.Next(2) == 0 ? "ZUNIONSTORE" : "ZINTERSTORE")} z 2 z {set}",
            17 => $"{(random.Next(2) == 0 ? "LPUSH" : "RPUSH")} l {members}",
            18 => random.Next(2) == 0 ? $"LTRIM l {random.Next(100)} -{random.Next(1, 3000)}"
            : $"LREM l 0 {Number(random, range)}",
            19 => $"{(random.Next(2) == 0 ? "LPOP" : "RPOP")} l {count}",
            20 => random.Next(4) == 0 ? $"XTRIM x MAXLEN {random.Next(50)}"
            : $"XADD x {++_entries} {Words(1 + (count % 500), i => $"f{i} {Member(random, range)}")}",
            _ => $"PFADD p {members}",
        };
    }

    private static string Number(Random random, int range) =>
        random.Next(500) == 0 ? random.NextInt64(long.MinValue, long.MaxValue).ToString(CultureInfo.InvariantCulture)
        : random.Next(-10, range).ToString(CultureInfo.InvariantCulture);

    private static string Member(Random random, int range) => random.Next(3) switch
    {
        0 => $"{random.Next(range)}",
        1 => $"m{random.Next(range)}",
        _ => random.Next(100) == 0 ? $"m{random.Next(range)}{new string('x', random.Next(400))}"
        : $"{random.Next(range)}.",
    };

    private static string Words(int count, Func<int, string> next) =>
        string.Join(' ', Enumerable.Range(0, count).Select(next));
}
