using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Scripts that name no keys and change some stand alone in the store, one after another: others have their
/// turns between two of them.</summary>
public sealed class LoneScriptTests
{
    private const int Scripts = 40;

    [Fact]
    public void Many_in_a_row_let_others_of_their_worker_in_between()
    {
        const string script =
            "EVAL \"redis.call('INCR', 'n') local x = 0 for i = 1, tonumber(ARGV[1]) do x = x + i end\" 0";
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var asker = kv.Connect();
        // A round takes some 20 ms on a quiet machine. On a busy one the asker may miss the turns between the scripts:
        // then they run again.
        string seen = "";
        Eventually.Holds(() => SeenWhileScriptsRun(kv, asker, script, out seen) >= 5,
            () => $"only after {seen} of {Scripts} scripts others came");
    }

    private static int SeenWhileScriptsRun(KvInstance kv, RespClient asker, string script, out string all)
    {
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

        all = string.Join(' ', seen);
        return seen.Count;
    }
}
