using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>The append-only file of a program in which something fails once, at any point.</summary>
/// <remarks>What fails of the disk itself: AofWriterTests, at each call of the device.</remarks>
public sealed class AofFaultTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-aof-").FullName;

    public static readonly string[] Points = ["aof.write", "aof.sync", "aof.manifest", "aof.load"];

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("aof.sync")]
    [InlineData("aof.write")]
    public void A_disk_that_fails_once_refuses_writes_and_goes_on(string point)
    {
        int written = 0;
        using (var kv = StartWith($"{point}:4", "--appendfsync", "always"))
        using (RespClient client = kv.Connect(), reader = kv.Connect())
        {
            client.Ok("SET a 0");
            // The reply to the write that fails waits until the file goes on.
            for (int i = 1; i < 8; i++) client.Send("INCR a");
            Eventually.Holds(() => reader.Command("SET b 1").String.StartsWith("MISCONF", StringComparison.Ordinal)
                || kv.Log.Contains("goes on in", StringComparison.Ordinal), () => kv.Log);
            Assert.True(reader.Ok("GET a").String.Length > 0);
            for (int i = 1; i < 8; i++) written += client.Read().IsError ? 0 : 1;
            Eventually.Holds(() => !reader.Command("SET b 2").IsError, () => kv.Log);
            Assert.Equal("ok", reader.Info("aof_last_write_status"));
            Kill(kv);
        }

        using var next = StartWith("");
        using var again = next.Connect();
        Assert.Equal($"{written}", again.Ok("GET a").String);
        Assert.Equal("2", again.Ok("GET b").String);
    }

    // The first is that of the start, the second names the new increment, the third the new base.
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void A_manifest_that_cannot_be_written_leaves_the_files_of_before_in_charge(int nth)
    {
        using (var kv = StartWith($"aof.manifest:{nth}"))
        using (var client = kv.Connect())
        {
            client.Ok("SET a 0");
            client.Ok("INCR a");
            client.Ok("BGREWRITEAOF");
            // That it failed can be seen a moment before the next one may begin.
            Eventually.Holds(() => client.Info("aof_last_bgrewrite_status") == "err"
                && client.Info("aof_rewrite_in_progress") == "0", () => kv.Log);
            client.Ok("INCR a");
            client.Ok("BGREWRITEAOF");
            Eventually.Holds(() => client.Info("aof_last_bgrewrite_status") == "ok", () => kv.Log);
            client.Ok("INCR a");
            client.Ok("WAITAOF 1 0 0");
            Kill(kv);
        }

        using var next = StartWith("");
        using var again = next.Connect();
        Assert.Equal("3", again.Ok("GET a").String);
    }

    // After the third failure it is tried again by itself a minute later, then after 2, 4 and so on.
    [Theory]
    [InlineData("BGREWRITEAOF")]
    [InlineData("CONFIG SET appendonly yes")]
    public void Who_asks_for_a_base_need_not_wait_however_often_it_has_failed(string request)
    {
        using var kv = StartWith("");
        using var client = kv.Connect();
        bool isSwitched = request != "BGREWRITEAOF";
        if (isSwitched)
        {
            client.Ok("CONFIG SET appendonly no");
            Eventually.Holds(() => client.Info("aof_enabled") == "0", () => kv.Log);
        }

        client.Ok("SET a 1");
        // No file can take its place.
        string inTheWay = Path.Combine(_directory, "appendonlydir", $"temp-rewriteaof-{kv.Process.Id}.aof");
        Directory.CreateDirectory(inTheWay);
        File.WriteAllText(Path.Combine(inTheWay, "a"), "");
        if (isSwitched) client.Ok(request);
        for (int failures = 1; failures <= 3; failures++)
        {
            if (!isSwitched) client.Ok(request);
            Eventually.Holds(() => kv.Log.Split("could not be written anew").Length - 1 >= failures
                && (isSwitched || client.Info("aof_rewrite_in_progress") == "0"), () => kv.Log);
        }

        Directory.Delete(inTheWay, recursive: true);
        if (isSwitched) client.Ok("CONFIG SET appendonly no");
        client.Ok(request);
        Eventually.Holds(() => client.Info("aof_last_bgrewrite_status") == "ok" && client.Info("aof_enabled") == "1",
            () => kv.Log, timeoutMs: 30_000);
    }

    [Fact]
    public void A_start_that_fails_leaves_the_files_as_they_are()
    {
        using (var kv = StartWith(""))
        using (var client = kv.Connect())
        {
            client.Ok("SET a 1");
            client.Ok("WAITAOF 1 0 0");
            Kill(kv);
        }

        string folder = Path.Combine(_directory, "appendonlydir");
        var before = Contents(folder);
        using (var failing = KvProcess.StartOn(ServerProgram.FreePort(), [("KV_FAULT", "aof.load:1")], Options([])))
            Assert.NotEqual(0, failing.WaitForExit());
        Assert.Equal(before, Contents(folder));
        using var next = StartWith("");
        using var again = next.Connect();
        Assert.Equal("1", again.Ok("GET a").String);
    }

    private static List<(string File, string Bytes)> Contents(string folder) =>
        [.. Directory.GetFiles(folder).Order().Select(file => (file, Convert.ToHexString(File.ReadAllBytes(file))))];

    private static void Kill(KvProcess kv)
    {
        kv.Signal("KILL");
        kv.WaitForExit();
    }

    private string[] Options(string[] more) =>
        ["--dir", _directory, "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0", .. more];

    private KvProcess StartWith(string fault, params string[] more) =>
        KvProcess.StartWith("KV_FAULT", fault, Options(more));
}
