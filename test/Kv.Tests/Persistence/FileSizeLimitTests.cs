using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>A limit of the system on the size of files: the server lives, says what it cannot write, and goes on when
/// it can.</summary>
public sealed class FileSizeLimitTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-file-size-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void A_snapshot_that_may_not_be_as_large_is_one_that_failed()
    {
        Requires.Linux("limits of a process");
        using var kv = KvProcess.Start("--dir", _directory, "--save", "");
        using var client = kv.Connect();
        client.Ok("SET k 1");
        client.Ok("SAVE");
        client.Ok("SET large " + string.Concat(Enumerable.Range(0, 100_000)));
        Limit(kv, "20000:unlimited");
        Assert.True(client.Command("SAVE").IsError);
        client.Ok("BGSAVE");
        // The status is SAVE's until the other one has ended.
        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0", () => kv.Log);
        Assert.Equal("err", client.Info("rdb_last_bgsave_status"));
        Assert.Equal(["dump.rdb"], Directory.GetFiles(_directory).Select(Path.GetFileName));
        Limit(kv, "unlimited:unlimited");
        client.Ok("SAVE");
        Assert.DoesNotContain("critical", kv.Log, StringComparison.Ordinal);
    }

    [Fact]
    public void A_file_that_may_not_grow_is_like_a_full_disk()
    {
        Requires.Linux("limits of a process");
        using var kv = KvProcess.Start("--dir", _directory, "--appendonly", "yes");
        using var client = kv.Connect();
        Limit(kv, "20000:unlimited");
        string value = new('x', 5000);
        for (int i = 0; i < 4; i++) client.Ok($"SET k{i} {value}");
        Eventually.Holds(() => client.Command("SET k w").IsError, () => kv.Log);
        Assert.StartsWith("MISCONF", client.Command("SET k w").String, StringComparison.Ordinal);
        Assert.Equal(value, client.Ok("GET k3").String);
        Limit(kv, "unlimited:unlimited");
        Eventually.Holds(() => !client.Command("SET k w").IsError, () => kv.Log);
    }

    private static void Limit(KvProcess kv, string bytes) =>
        ChildProcess.Run("/usr/bin/prlimit", ["--pid", kv.Process.Id.ToString(), $"--fsize={bytes}"]);
}
