using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>What is in its record is read without a lock while it changes in place, moves, goes and begins anew: no
/// reader sees half of a command.</summary>
public sealed class LocklessReadStressTests
{
    private const int Elements = 60;

    // They take 2 to 9 bytes, in each of the forms.
    private static readonly string[] Scores = ["0", "-100", "5", "1111", "99999", "-8000000", "123456789", "4000000000",
        "281474976710655", "1.5", "0.1", "99.125", "inf"];

    // Each write gives all elements one value, of another length, so that every byte behind the first moves.
    [Fact]
    public void Fields_that_are_written_together_are_read_together() =>
        Run(
            random => Together("HSET", (i, value) => $"f{i:D2} {value}", random),
            random => random.Next(4) switch
            {
                0 => $"HMGET k {Some(random, "f")}",
                1 => "HLEN k",
                2 => $"HEXISTS k f{random.Next(Elements):D2}",
                _ => $"HGET k f{random.Next(Elements):D2}",
            },
            reply => reply.Type == ':' ? reply.Integer is 0 or 1 or Elements
            : AreEqual(reply) && IsValue(reply.Items?[0] ?? reply));

    [Fact]
    public void Scores_that_are_written_together_are_read_together() =>
        Run(
            random => Together("ZADD", (i, value) => $"{Scores[value.Length % Scores.Length]} m{i:D2}", random),
            random => random.Next(4) switch
            {
                0 => $"ZMSCORE k {Some(random, "m")}",
                1 => "ZCARD k",
                2 => "ZCOUNT k 1 100000",
                _ => $"ZSCORE k m{random.Next(Elements):D2}",
            },
            reply =>
                reply.Type == ':' ? reply.Integer is 0 or Elements : AreEqual(reply)
                && (reply.Items?[0] ?? reply) is var score && (score.IsNull || Scores.Contains(score.String)));

    // Of one name, so that a reader that loses its way finds another member, or the stayer not.
    [Fact]
    public void Members_that_come_and_go_together_are_read_together() =>
        Run(
            random => (random.Next(2) == 0 ? "SADD k " : "SREM k ")
            + string.Join(' ', Enumerable.Range(0, Elements).Select(i => new string('m', 1 + (i % 30)) + i)),
            random => random.Next(3) switch
            {
                0 => "SMISMEMBER k m0 mmmmmmm6 mmmmmmmmmmmmmmmmmmmmmm51",
                1 => "SCARD k",
                _ => $"SISMEMBER k never{random.Next(10)}",
            },
            reply => reply.Type == ':' ? reply.Integer is 0 or Elements : AreEqual(reply));

    [Fact]
    public void Integers_that_come_and_go_together_are_read_together() =>
        Run(
            // Now and then one that needs 8 bytes: all become wider.
            random => (random.Next(2) == 0 ? "SADD k 1 " : "SREM k ") + string.Join(' ', Enumerable.Range(10, Elements))
            + (random.Next(8) == 0 ? " 1000000000000" : ""),
            random => random.Next(3) switch
            {
                0 => $"SMISMEMBER k {random.Next(10, 30)} {random.Next(30, 60)} {random.Next(60, 10 + Elements)}",
                1 => "SCARD k",
                _ => $"SISMEMBER k {random.Next(100, 200)}",
            },
            reply => reply.Type == ':' ? reply.Integer is >= 0 and <= 2 or (>= Elements and <= Elements + 2)
            : AreEqual(reply));

    [Fact]
    public void Elements_that_come_and_go_by_threes_are_read_by_threes() =>
        Run(
            random => random.Next(2) == 0
            ? $"{(random.Next(2) == 0 ? "LPUSH" : "RPUSH")} k {Value(random)} {Value(random)} {Value(random)}"
            : $"{(random.Next(2) == 0 ? "LPOP" : "RPOP")} k 3",
            random => random.Next(2) == 0 ? "LLEN k" : $"LINDEX k {random.Next(-20, 20)}",
            reply => reply.Type == ':' ? reply.Integer % 3 == 0 : IsValue(reply));

    // Of one letter, 100 of them, or none.
    [Fact]
    public void Bits_of_a_string_are_those_of_one_value() =>
        Run(
            random => $"SETRANGE k 0 {new string((char)('p' + random.Next(4)), 100)}",
            random => random.Next(6) switch
            {
                0 => "BITCOUNT k",
                1 => "BITFIELD_RO k GET u8 0 GET u8 #50 GET u8 #99",
                2 => "STRLEN k",
                3 => "GETRANGE k 10 90",
                4 => "GETBIT k 0",                      // of none of the letters
                _ => "GET k",
            },
            reply => reply.Type switch
            {
                ':' => reply.Integer is 0 or 100 or 300 or 400 or 500,      // p has three bits, q and r four, s five
                '*' => AreEqual(reply) && reply.Items![0].Integer is 0 or (>= 'p' and <= 's'),
                _ => reply.IsNull || reply.String.Length is 0 or 81 or 100
                && reply.String.All(letter => letter == reply.String[0]),
            });

    // Counted beforehand, so that PFCOUNT only reads the head of one.
    [Fact]
    public void Sketches_are_counted_as_they_were_put() =>
        Run(
            random => random.Next(2) == 0 ? "COPY three k REPLACE" : "COPY seven k REPLACE",
            _ => "PFCOUNT k",
            reply => reply.Integer is 0 or 3 or 7,
            "PFADD three a b c", "PFADD seven a b c d e f g", "PFCOUNT three", "PFCOUNT seven");

    private static string Together(string command, Func<int, string, string> element, Random random)
    {
        string value = Value(random);
        return $"{command} k {string.Join(' ', Enumerable.Range(0, Elements).Select(i => element(i, value)))}";
    }

    // Its length follows from its letter: a part of one, or of two, is none.
    private static string Value(Random random)
    {
        int letter = random.Next(26);
        return new string((char)('a' + letter), 2 * (letter + 1));
    }

    private static bool IsValue(Reply reply) => reply.IsNull
        || (reply.String.Length > 0 && reply.String.Length == 2 * (reply.String[0] - 'a' + 1)
            && reply.String.All(letter => letter == reply.String[0]));

    private static string Some(Random random, string name) =>
        $"{name}{random.Next(20):D2} {name}{random.Next(20, 40):D2} {name}{random.Next(40, Elements):D2}";

    private static bool AreEqual(Reply reply) =>
        reply.Items == null || reply.Items.Skip(1).All(item => item.IsSame(reply.Items[0]));

    private static void Run(Func<Random, string> write, Func<Random, string> read, Func<Reply, bool> isWhole,
        params string[] before)
    {
        using var server = KvInstance.Start("--hash-max-listpack-entries", "64", "--set-max-listpack-entries", "64",
            "--zset-max-listpack-entries", "64", "--list-max-listpack-size", "64");
        server.Server.Store.Log.PoisonFreed = true;
        using (var client = new WindowClient(server))
            foreach (string line in before) client.Run(line);
        int reads = 0;
        // Encoded beforehand: what is to be met are the commands.
        using (var run = new ClientRun(server, TimeBudget.OfSeconds(0.7)))
        {
            for (int i = 0; i < 2; i++)
            {
                run.AddWindow(server, random =>
                {
                    byte[][] writes = [.. Enumerable.Range(0, 64).Select(_ => RespText.Encode(write(random)))];
                    byte[][] others =
                        [.. ((string[])["DEL k", "EXPIRE k 100000", "PERSIST k", "RENAME k other", "RENAME other k"])
                            .Select(RespText.Encode)];
                    return client =>
                        client.Run(random.Next(4) == 0 ? others[random.Next(2) * random.Next(others.Length)]
                            : writes[random.Next(writes.Length)]);
                });
                run.AddWindow(server, random =>
                {
                    byte[][] wires = [.. Enumerable.Range(0, 64).Select(_ => RespText.Encode(read(random)))];
                    return client =>
                    {
                        int at = 0;
                        var reply = Reply.Read(client.Run(wires[random.Next(wires.Length)]), ref at);
                        Assert.True(!reply.IsError && isWhole(reply), $"half of a command: {reply}");
                        Interlocked.Increment(ref reads);
                    };
                });
            }

            run.Finish();
        }

        Assert.True(reads > 0);
        server.Server.Store.CheckIntegrity();
    }
}
