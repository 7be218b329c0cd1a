using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Scripts without end that hold their declared keys, on a server of one worker: it serves all others
/// meanwhile, also those who need these keys, or all keys.</summary>
public sealed class LongScriptTests
{
    private const string Endless = "while true do end";

    /// <summary>More than there are places for work in steps.</summary>
    private const int Many = 40;

    [Theory]
    [InlineData("a script with the same key", "EVAL", "return redis.call('GET', KEYS[1])", "1", "k")]
    [InlineData("a script that computes its keys", "EVAL", "return redis.call('GET', 'k')", "0")]
    [InlineData("all keys", "FLUSHALL")]
    [InlineData("EXEC", "EXEC")]
    public void Who_waits_for_a_key_of_a_long_script_leaves_the_worker_to_others(string what, params string[] command)
    {
        using var kv = Start();
        using RespClient runs = kv.Connect(), waits = kv.Connect(), asks = kv.Connect();
        if (command[0] == "EXEC")
        {
            waits.Ok("MULTI");
            waits.Ok("SET k 1");
        }

        runs.Send(RespText.Encode(Words("EVAL", Endless, "1", "k")));
        Eventually.Holds(() => asks.Ok("CLIENT LIST").String!.Contains("cmd=eval", StringComparison.Ordinal),
            () => "the script does not run");
        waits.Send(RespText.Encode(Words(command)));
        for (int i = 0; i < 100; i++) asks.Ok("PING");
        asks.Ok("SCRIPT KILL");
        Assert.True(runs.Read().IsError, what);
        Assert.False(waits.Read().IsError, what);
    }

    [Fact]
    public async Task More_long_scripts_than_there_are_places_leave_the_worker_to_others()
    {
        using var kv = Start();
        using var asks = kv.Connect();
        var runs = new RespClient[Many];
        for (int i = 0; i < Many; i++)
        {
            runs[i] = kv.Connect();
            runs[i].Send(RespText.Encode(Words("EVAL", Endless, "1", "k" + i)));
            asks.Ok("PING");
        }

        var stop = TestContext.Current.CancellationToken;
        var replies = Task.WhenAll(Array.ConvertAll(runs, client => Task.Run(client.Read, stop)));
        // Ends: each round ends those that run; whoever found no place begins then.
        while (await Task.WhenAny(replies, Task.Delay(1, stop)) != replies) asks.Command("SCRIPT KILL");
        foreach (var reply in await replies)
            Assert.StartsWith("ERR Script killed by user", reply.String, StringComparison.Ordinal);
        foreach (var client in runs) client.Dispose();
    }

    /// <summary>Scripts that write at once and then never end: nobody can kill them, so the server's end ends
    /// them.</summary>
    [Theory]
    [InlineData("each its own text, so nobody knows that it takes long", 40, true)]
    [InlineData("more such texts than there are places", 150, true)]
    [InlineData("one text, which is known to take long", 100, false)]
    public void Scripts_that_have_written_leave_the_worker_to_others(string what, int count, bool areNew)
    {
        using var kv = Start();
        using var asks = kv.Connect();
        var runs = new RespClient[count];
        for (int i = 0; i < count; i++)
        {
            string text = $"redis.call('INCR', KEYS[1]) {Endless}{(areNew ? $" -- {i}" : "")}";
            runs[i] = kv.Connect();
            runs[i].Send(RespText.Encode(Words("EVAL", text, "1", "k" + i)));
            asks.Ok("PING");
        }

        for (int i = 0; i < 50; i++) Assert.Equal("+PONG", asks.Ok("PING").ToString());
        foreach (var client in runs) Assert.True(client.Socket.Available == 0, what);
        foreach (var client in runs) client.Dispose();
    }

    private static KvInstance Start() => KvInstance.Start("--worker-threads", "1", "--busy-reply-threshold", "0",
        "--script-time-limit", "0");

    private static byte[][] Words(params string[] words) =>
        Array.ConvertAll(words, System.Text.Encoding.ASCII.GetBytes);
}
