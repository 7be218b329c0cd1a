using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Reports;

/// <summary>MEMORY STATS, DOCTOR, PURGE and MALLOC-STATS of a whole process; their shapes are in the
/// transcripts.</summary>
public sealed class MemoryCommandTests
{
    private const long Mb = 1 << 20;

    private static readonly string[] Used =
        ["kv.log", "kv.index", "kv.blocks", "kv.clients", "kv.tables", "kv.managed"];

    private static readonly string[] Beside = ["kv.retired", "kv.warm", "kv.collector", "kv.program"];

    [Fact]
    public void STATS_adds_up_to_what_the_system_says_that_the_process_takes()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start("--worker-threads", "1");
        using var client = kv.Connect(timeoutMs: 120_000);
        long program = Stats(client)["kv.program"];
        Fill(client, "small", count: 300_000, bytes: 100);
        Fill(client, "large", count: 200, bytes: 300_000);
        client.Ok($"HSET hash {string.Join(' ', Enumerable.Range(0, 20_000).Select(i => $"f{i} {i}"))}");
        Eventually.Holds(() =>
        {
            var stats = Stats(client);
            return Used.Sum(part => stats[part]) == stats["total.allocated"]
                && stats["total.allocated"] + Beside.Sum(part => stats[part]) == stats["kv.resident"]
                && stats["kv.resident"] == stats["allocator.resident"]
                && stats["dataset.bytes"] + stats["overhead.total"] == stats["total.allocated"];
        }, () => client.Ok("MEMORY STATS").ToString());

        // The program's part is what is left over: were a part wrong, it would take what it never takes.
        var last = Stats(client);
        Assert.InRange(last["kv.program"], 0, program + (64 * Mb));
        Assert.InRange(last["kv.log"], 300_000 * 100, 80 * Mb);
        Assert.InRange(last["kv.blocks"], 200 * 300_000, 80 * Mb);
        Assert.InRange(last["kv.index"], 300_000 * 8, 16 * Mb);
        Assert.Equal(300_201, last["keys.count"]);
        // Of another reading of the system, a moment later.
        long resident = ResidentBytes(kv.Process.Id);
        Assert.InRange(resident, last["kv.resident"] - (32 * Mb), last["kv.resident"] + (32 * Mb));
    }

    [Fact]
    public void PURGE_gives_what_is_warm_to_the_system()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start("--worker-threads", "1");
        using var client = kv.Connect(timeoutMs: 120_000);
        using var other = kv.Connect();
        Fill(client, "small", count: 100_000, bytes: 100);
        client.Ok("FLUSHALL");
        // Two free segments stay warm for as long as nobody needs them.
        Eventually.Holds(() => Stats(client)["kv.warm"] >= 4 * Mb && Stats(client)["kv.retired"] == 0,
            () => client.Ok("MEMORY STATS").ToString());
        Assert.Equal("+OK", client.Command("MEMORY PURGE").ToString());
        // All who ask get their answer, and are not in each other's way.
        var many = Enumerable.Range(0, 20).Select(_ => kv.Connect()).ToList();
        foreach (var one in many) one.Send("MEMORY PURGE");
        Assert.Equal("+OK", other.Command("SET k v").ToString());
        foreach (var one in many) Assert.Equal("+OK", one.Read().ToString());
        foreach (var one in many) one.Dispose();
        Eventually.Holds(() =>
        {
            client.Ok("MEMORY PURGE");
            return Stats(client)["kv.warm"] < 2 * Mb;
        }, () => client.Ok("MEMORY STATS").ToString());
        Assert.Equal("v", client.Ok("GET k").String);
    }

    [Fact]
    public void DOCTOR_says_where_memory_is_and_what_is_wrong()
    {
        using var kv = KvProcess.Start("--worker-threads", "1", "--maxmemory", "64mb");
        using var client = kv.Connect(timeoutMs: 120_000);
        string text = Doctor(client);
        Assert.Contains(" are in use, of 64.00M that may be (maxmemory); ", text, StringComparison.Ordinal);
        Assert.Contains("\nIn use: ", text, StringComparison.Ordinal);
        Assert.Contains("\nResident beside that: retired ", text, StringComparison.Ordinal);
        Assert.EndsWith("\n\nNothing is wrong with that.\n", text, StringComparison.Ordinal);

        string value = new('v', 10_000);
        for (int i = 0; !client.Command($"SET k{i} {value}").IsError; i++)
        {
        }

        // While somebody is refused.
        Await(client, "1. Writes are refused: maxmemory is reached, and the policy evicts nothing. ",
            () => client.Command($"SET more {value}"));
        client.Ok("CONFIG SET maxmemory-policy allkeys-lru");
        int next = 0;
        Await(client, "1. Keys are evicted, ", () => client.Command($"SET new{next++} {value}"));
        client.Ok("CONFIG SET maxmemory 0");
        client.Ok("FLUSHALL");
        client.Command("SETRANGE giant 100000000 x");
        Await(client, "A single string takes ", () => { });
        Assert.DoesNotContain("giant", Doctor(client), StringComparison.Ordinal);
    }

    [Fact]
    public void MALLOC_STATS_counts_values_by_size_and_place()
    {
        using var kv = KvProcess.Start("--worker-threads", "1");
        using var client = kv.Connect();
        for (int i = 0; i < 100; i++) client.Ok($"SET small{i} {new string('v', 40)}");
        for (int i = 0; i < 10; i++) client.Command($"SETRANGE large{i} 100000 x");
        client.Ok($"SADD set {string.Join(' ', Enumerable.Range(0, 3000).Select(i => $"member{i}"))}");
        // Rows of the table: up to how many bytes, and a count and bytes for each place.
        Eventually.Holds(() =>
        {
            var rows = Text(client, "MEMORY MALLOC-STATS").Split('\n')
                .SkipWhile(line => !line.Contains("in the log", StringComparison.Ordinal)).Skip(1)
                .TakeWhile(line => line.Length > 0)
                .Select(line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
                .Select(words => (Log: Count(words[1]), Blocks: Count(words[3]), Regions: Count(words[5]))).ToList();
            return (rows.Sum(row => row.Log), rows.Sum(row => row.Blocks), rows.Sum(row => row.Regions))
                == (100, 10, 1);
        }, () => Text(client, "MEMORY MALLOC-STATS"));
        string text = Text(client, "MEMORY MALLOC-STATS");
        foreach (string part in (string[])["Segments of the log, 2 MB each: ", "Extents ", "Mappings: ",
            "Managed heap: ", "  generation 2 "])
            Assert.Contains(part, text, StringComparison.Ordinal);
    }

    private static void Await(RespClient client, string finding, Action again)
    {
        Eventually.Holds(() =>
        {
            again();
            return Doctor(client).Contains(finding, StringComparison.Ordinal);
        }, () => Doctor(client));
    }

    private static string Doctor(RespClient client) => Text(client, "MEMORY DOCTOR");

    private static string Text(RespClient client, string command) => client.Ok(command).String;

    private static long Count(string word) => long.Parse(word, CultureInfo.InvariantCulture);

    private static Dictionary<string, long> Stats(RespClient client) => client.Ok("MEMORY STATS").Items!.Chunk(2)
        .Where(pair => pair[1].Type == ':').ToDictionary(pair => pair[0].String, pair => pair[1].Integer);

    private static void Fill(RespClient client, string prefix, int count, int bytes)
    {
        string value = new('v', bytes);
        int deep = Math.Clamp(1_000_000 / bytes, 1, 1000);
        for (int i = 0; i < count; i += deep)
        {
            var batch = new MemoryStream();
            int end = Math.Min(i + deep, count);
            for (int key = i; key < end; key++) batch.Write(RespText.Encode($"SET {prefix}{key} {value}"));
            client.Send(batch.ToArray());
            for (int key = i; key < end; key++) Assert.Equal("+OK", client.Read().ToString());
        }
    }

    private static long ResidentBytes(int process) => 1024 * long.Parse(
        File.ReadLines($"/proc/{process}/status").First(line => line.StartsWith("VmRSS:", StringComparison.Ordinal))
            .Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture);
}
