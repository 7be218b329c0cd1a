using Kv.Server.Persistence;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>What a process was writing when it was killed does not pile up.</summary>
public sealed class LeftoverTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-leftover-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private string Make(string name)
    {
        string path = Path.Combine(_directory, name);
        File.WriteAllBytes(path, new byte[100]);
        return path;
    }

    private string[] Names => [.. Directory.GetFiles(_directory).Select(path => Path.GetFileName(path)).Order()];

    [Theory]
    [InlineData("no")]
    [InlineData("yes")]
    public void The_next_start_deletes_the_snapshots_of_processes_that_have_ended(string appendOnly)
    {
        int ended;
        using (var other = KvProcess.Start("--dir", _directory)) ended = other.Process.Id;
        int alive = Environment.ProcessId;
        string[] left = 
        [
            $"temp-{ended}.rdb", $"temp-{ended}-7.rdb", $"temp-save-{ended}-3.rdb", $"temp-replica-{ended}-7.rdb",
        ];
        string[] stay =
        [
            $"temp-{alive}.rdb", $"temp-save-{alive}-1.rdb", $"temp-replica-{alive}-1.rdb", "temp-.rdb", "temp-a.rdb",
            $"temp-{ended}.rdb.old", $"temp-{ended}-.rdb", $"my-temp-{ended}.rdb", "temp-99999999999999.rdb",
        ];
        foreach (string name in left.Concat(stay)) Make(name);
        using var kv = KvProcess.Start("--dir", _directory, "--appendonly", appendOnly);
        Assert.Equal(stay.Order(), Names);
        Assert.Contains($"temp-save-{ended}-3.rdb, 100 bytes", kv.Log, StringComparison.Ordinal);
    }

    // Two servers of one program that have one folder: one took the other's unfinished snapshot for its own.
    [Fact]
    public void Two_snapshots_of_one_process_are_two_files()
    {
        using var first = new SnapshotFile(_directory, "a.rdb");
        using var second = new SnapshotFile(_directory, "b.rdb");
        first.Stream.WriteByte(1);
        second.Stream.WriteByte(2);
        first.Publish();
        second.Publish();
        Assert.Equal([1], File.ReadAllBytes(Path.Combine(_directory, "a.rdb")));
        Assert.Equal([2], File.ReadAllBytes(Path.Combine(_directory, "b.rdb")));
    }

    [Fact]
    public void What_a_server_of_another_container_is_writing_stays()
    {
        int ended;
        using (var other = KvProcess.Start("--dir", _directory)) ended = other.Process.Id;
        string path = Make($"temp-{ended}.rdb");
        // As SnapshotFile opens it.
        using var writing = new FileStream(path, FileMode.Create, FileAccess.Write, FileShare.Read);
        using var kv = KvProcess.Start("--dir", _directory);
        Assert.Equal([$"temp-{ended}.rdb"], Names);
    }

    [Fact]
    public void A_snapshot_that_is_killed_leaves_nothing_after_the_next_start()
    {
        using (var kv = KvProcess.Start("--dir", _directory, "--enable-debug-command", "yes"))
        using (var client = kv.Connect())
        {
            client.Ok("DEBUG POPULATE 300000 k 100");
            client.Ok("BGSAVE");
            Eventually.Holds(() => Names.Any(name => name.StartsWith("temp-", StringComparison.Ordinal)),
                () => kv.Log);
            kv.Process.Kill();
            kv.Process.WaitForExit();
        }

        using var next = KvProcess.Start("--dir", _directory);
        Assert.DoesNotContain(Names, name => name.StartsWith("temp-", StringComparison.Ordinal));
    }
}
