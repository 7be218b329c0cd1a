using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Scripts that name no keys and change some stand alone in the store, one after another: others have their
/// turns between two of them.</summary>
public sealed class LoneScriptTests
{
    private const int Scripts = 24;

    [Theory]
    [InlineData("epoll", "1")]
    [InlineData("epoll", "2")]
    [InlineData("pipelines", "2")]
    public void Many_in_a_row_let_others_in_between(string transport, string workers)
    {
        // Some 20 ms on a quiet machine: the asker has time to see one reply and ask again.
        const string script =
            "EVAL \"redis.call('INCR', 'n') local x = 0 for i = 1, tonumber(ARGV[1]) do x = x + i end\" 0";
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", workers);
        using var asker = kv.Connect();
        asker.Ok("SET n 0");
        var clients = Enumerable.Range(0, Scripts).Select(_ => kv.Connect()).ToList();
        // All come while the first one runs.
        clients[0].Send($"{script} 10000000");
        foreach (var client in clients[1..]) client.Send($"{script} 1000000");
        var seen = new HashSet<string>();
        string n;
        do seen.Add(n = asker.Ok("GET n").String);
        while (n != $"{Scripts}");
        foreach (var client in clients)
        {
            Assert.True(client.Read().IsNull);
            client.Dispose();
        }

        Assert.True(seen.Count > Scripts / 2, $"only after {string.Join(' ', seen)} of {Scripts} scripts others came");
    }
}
