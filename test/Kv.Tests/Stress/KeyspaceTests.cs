using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>The checker of collections' histories is tested first: it answers as the reference does, and refuses what
/// cannot have been.</summary>
public sealed class KeyspaceTests
{
    // One client, so there is one order. A right one is accepted; and with one answer of it changed, refused.
    [Theory]
    [InlineData("list", 1)]
    [InlineData("set", 2)]
    [InlineData("hash", 3)]
    [InlineData("sorted set", 4)]
    public void A_history_of_the_reference_is_accepted_and_refused_with_another_answer(string kind, int stream)
    {
        using var borrowed = SharedServers.Redis();
        using var client = borrowed.Server.Connect();
        Random random = Seed.NewRandom(stream);
        int changed = 0;
        for (int round = 0; round < 60; round++)
        {
            client.Ok("FLUSHALL");
            var history = new List<KeyspaceCall>();
            for (int i = 0; i < 50; i++)
            {
                string[] commands = [.. Enumerable.Range(0, random.Next(3) == 0 ? 3 : 1)
                    .Select(at => random.Next(4) == 0
                    ? KeyspaceCommands.OnBoth(kind, "a", "b", random)
                    : KeyspaceCommands.OnOne(kind, random.Next(2) == 0 ? "a" : "b", (10 * i) + 10 + at, random))];
                history.Add(new KeyspaceCall(random.Next(3), commands, [.. commands.Select(client.Command)], 2 * i,
                    (2 * i) + 1));
            }

            string text = string.Join('\n', history);
            Assert.True(KeyspaceCall.Search(history) == null, $"{text}; {Seed.Hint}");
            int wrong = random.Next(history.Count);
            if (Another(history[wrong].Answers[0]) is not { } answer) continue;
            changed++;
            history[wrong] = history[wrong] with { Answers = [answer, .. history[wrong].Answers.Skip(1)] };
            Assert.True(KeyspaceCall.Search(history) == "no order of the calls explains what they answered",
                $"{history[wrong]} is accepted in\n{text}; {Seed.Hint}");
        }

        Assert.InRange(changed, 20, 60);
    }

    /// <summary>An answer that is never right where the given one is; null where there is none such.</summary>
    private static Reply? Another(Reply answer) => answer switch
    {
        { Type: ':' } => Reply.Of(':', RespText.Bytes((answer.Integer + 1).ToString(CultureInfo.InvariantCulture))),
        { Type: '$', IsNull: true } => Reply.Of('$', RespText.Bytes("never")),
        { Type: '$' } => Reply.Of('$', text: null),
        { Type: '*', Items.Count: > 0 } => Reply.Of(
            '*', [.. answer.Items!.Select(_ => Reply.Of('$', RespText.Bytes("never")))]),
        _ => null,
    };

    // client begin end command -> answer; commands of one transaction are joined by "; ".
    [Theory]
    [InlineData("an element taken twice", "1 1 2 RPUSH k a -> :1", "2 3 6 LPOP k -> $a", "3 4 5 RPOP k -> $a")]
    [InlineData("an element that nobody pushed", "1 1 4 RPUSH k a -> :1", "2 2 5 LPOP k -> $b")]
    [InlineData("elements out of their order", "1 1 2 RPUSH k a b -> :2", "2 3 4 LPOP k -> $b", "3 5 6 LPOP k -> $a")]
    [InlineData("a length of before", "1 1 2 RPUSH k a -> :1", "2 3 4 LLEN k -> :0")]
    [InlineData("two who added the same member", "1 1 4 SADD k m -> :1", "2 2 5 SADD k m -> :1")]
    [InlineData("a member that came and went by nobody", "1 1 2 SADD k m -> :1", "2 3 4 SISMEMBER k m -> :0",
        "3 5 6 SISMEMBER k m -> :1")]
    [InlineData("a count that half a command makes", "1 1 6 SADD k a b -> :2", "2 2 5 SCARD k -> :1")]
    [InlineData("a lost increment", "1 1 4 HINCRBY k f 1 -> :1", "2 2 5 HINCRBY k f 1 -> :1")]
    [InlineData("increments the wrong way round", "1 1 2 HINCRBY k f 1 -> :2", "2 3 4 HINCRBY k f 1 -> :1")]
    [InlineData("a field back from before", "1 1 2 HSET k f 1 -> :1", "1 3 4 HDEL k f -> :1", "2 5 6 HGET k f -> $1")]
    [InlineData("not the least", "1 1 2 ZADD k 1 a 2 b -> :2", "2 3 6 ZPOPMIN k -> $b $2", "3 4 5 ZSCORE k a -> $1")]
    [InlineData("a rank below one that is not there", "1 1 2 ZADD k 1 a 2 b -> :2", "2 3 4 ZRANK k b -> :1",
        "3 5 6 ZRANK k b -> :2")]
    [InlineData("the half of a transaction", "1 1 6 SADD a m; SADD b m -> :1; :1",
        "2 2 5 SISMEMBER b m; SISMEMBER a m -> :1; :0")]
    [InlineData("a member in both sets while it moves", "1 1 2 SADD a m -> :1", "2 3 8 SMOVE a b m -> :1",
        "3 4 7 SCARD a; SCARD b -> :1; :1")]
    [InlineData("a client's own commands in another order", "1 1 8 RPUSH k a -> :1", "1 1 8 LPOP k -> $-1")]
    public void What_cannot_have_been_is_refused(string what, params string[] lines) =>
        Assert.True(KeyspaceCall.Search(History(lines)) != null, what);

    // The same where it can: calls that overlap may have happened in either order.
    [Theory]
    [InlineData("1 1 4 RPUSH k a -> :1", "2 2 5 LPOP k -> $-1", "3 3 6 RPOP k -> $a")]
    [InlineData("1 1 4 SADD k m -> :1", "2 2 5 SADD k m -> :0", "3 3 6 SISMEMBER k m -> :0")]
    [InlineData("1 1 9 HINCRBY k f 1 -> :2", "2 2 8 HINCRBY k f 1 -> :1", "3 3 4 HGET k f -> $1",
        "3 5 6 HGET k f -> $2")]
    [InlineData("1 1 9 ZADD k 1 a -> :1", "2 2 8 ZADD k 2 b -> :1", "3 3 7 ZPOPMIN k -> $b $2",
        "3 10 11 ZCARD k -> :1")]
    [InlineData("1 1 6 SADD a m; SADD b m -> :1; :1", "2 2 5 SISMEMBER b m; SISMEMBER a m -> :1; :1",
        "3 3 4 SCARD a; SCARD b -> :0; :0")]
    public void What_can_have_been_is_accepted(params string[] lines) =>
        Assert.Null(KeyspaceCall.Search(History(lines)));

    private static List<KeyspaceCall> History(string[] lines)
    {
        var calls = new List<KeyspaceCall>();
        foreach (string line in lines)
        {
            string[] parts = line.Split(" -> "), head = parts[0].Split(' ', 4);
            calls.Add(new KeyspaceCall(int.Parse(head[0]), head[3].Split("; "),
                [.. parts[1].Split("; ").Select(Answer)], long.Parse(head[1]), long.Parse(head[2])));
        }

        return calls;
    }

    private static Reply Answer(string text)
    {
        string[] items = text.Split(' ');
        if (items.Length > 1) return Reply.Of('*', [.. items.Select(Answer)]);
        return Reply.Of(text[0], text == "$-1" ? null : RespText.Bytes(text[1..]));
    }
}
