using Kv.Server.Execution;
using Kv.Server.Families;

namespace Kv.Tests.Dispatch;

/// <summary>Where the look-ahead finds a command's first key: its bucket is fetched while others are run.</summary>
public sealed class FirstKeyTests
{
    [Theory]
    [InlineData("GET", 1)]
    [InlineData("OBJECT", 0)]
    [InlineData("PING", 0)]
    [InlineData("XREAD", 0)]
    [InlineData("EVAL", 3)]
    [InlineData("EVALSHA", 3)]
    [InlineData("EVALSHA_RO", 3)]
    [InlineData("FCALL", 3)]
    [InlineData("LMPOP", 2)]
    [InlineData("BZMPOP", 3)]
    [InlineData("SINTERCARD", 2)]
    [InlineData("ZUNIONSTORE", 1)]
    public void It_is_at_a_fixed_place_or_behind_a_count(string name, int place) =>
        Assert.Equal(place, AllCommands.Table.Find(System.Text.Encoding.ASCII.GetBytes(name))!.FirstKey);

    // What stands there instead of a key is looked for in vain, and nothing else.
    [Fact]
    public void A_count_of_none_has_no_key_behind_it()
    {
        using var kv = Harness.KvInstance.Start();
        using var client = kv.Connect();
        string[] lines =
        [
            "SET k 1", "EVAL \"return ARGV[1]\" 0 k", "EVAL \"return #ARGV\" 0", "EVAL \"return KEYS[1]\" 1 k",
            "EVAL \"return redis.call('GET', KEYS[2])\" 2 nokey k", "LMPOP 0 k LEFT", "SINTERCARD 1 nokey", "GET k",
        ];
        client.Send(string.Concat(lines.Select(line =>
            System.Text.Encoding.Latin1.GetString(Harness.RespText.Encode(line)))).Select(c => (byte)c).ToArray());
        string[] replies = [.. lines.Select(_ => client.Read().ToString())];
        Assert.Equal(["+OK", "\"k\"", ":0", "\"k\"", "\"1\"", "-ERR numkeys should be greater than 0", ":0", "\"1\""],
            replies);
    }
}
