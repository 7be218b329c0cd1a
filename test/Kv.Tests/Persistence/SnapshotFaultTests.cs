using Kv.Server.Persistence;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>A snapshot that fails at any step leaves the one of before, and nothing else.</summary>
/// <remarks>Alone: points are the process', and other servers in it write snapshots, too.</remarks>
[Collection(Alone.Name)]
public sealed class SnapshotFaultTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-snapshot-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    public static readonly string[] Points = ["rdb.write", "rdb.sync", "rdb.rename"];

    public static TheoryData<string, int> Steps => new()
    {
        { "rdb.write", 1 }, { "rdb.write", 3 }, { "rdb.sync", 1 }, { "rdb.rename", 1 },
    };

    [Theory, MemberData(nameof(Steps))]
    public void The_file_of_before_stays(string point, int nth)
    {
        using var kv = KvInstance.Start("--dir", _directory);
        using var client = kv.Connect();
        client.Ok("SET k v");
        client.Ok("SAVE");
        byte[] before = File.ReadAllBytes(Path.Combine(_directory, "dump.rdb"));
        for (int i = 0; i < 2000; i++) client.Ok($"SET k{i} v{i}");
        using (var armed = Fault.Arm(point, nth))
        {
            Assert.True(client.Command("SAVE").IsError);
            Assert.True(armed.Fired);
        }

        Assert.Equal(before, File.ReadAllBytes(Path.Combine(_directory, "dump.rdb")));
        Assert.Single(Directory.GetFileSystemEntries(_directory));
        client.Ok("SET k w");
        client.Ok("SAVE");
        Assert.NotEqual(before, File.ReadAllBytes(Path.Combine(_directory, "dump.rdb")));
    }

    // As where what is to happen at the instant finds no memory: keys are changed, and kept for nobody.
    [Fact]
    public void One_that_fails_at_its_instant_is_gone_and_another_can_be_begun()
    {
        using var kv = KvInstance.Start("--dir", _directory, "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("SET k v");
        string path = Path.Combine(_directory, "other.rdb");
        using (var guard = kv.Server.Store.Enter())
        {
            Assert.False(kv.Server.Snapshots.TryBegin(guard.Session, SnapshotPurpose.Replica, path,
                () => throw new OutOfMemoryException("none is left"), done: null, out string? error));
            Assert.Equal("none is left", error);
        }

        client.Ok("SET k w");
        client.Ok("DEL k");
        Assert.Equal("0", client.Info("rdb_bgsave_in_progress"));
        client.Ok("SET k x");
        client.Ok("BGSAVE");
        Eventually.Holds(() => client.Info("rdb_saves") == "1", () => client.Ok("INFO persistence").String);
        Assert.Single(Directory.GetFileSystemEntries(_directory));
        client.Ok("DEBUG INTEGRITY");
    }

    // As where the server ends at the very moment that one is begun: it joined a thread that was not started.
    [Fact]
    public async Task One_that_is_given_up_before_its_first_byte_is_waited_for()
    {
        using var kv = KvInstance.Start("--dir", _directory);
        using var client = kv.Connect();
        client.Ok("SET k v");
        Task? cancelling = null;
        using (var guard = kv.Server.Store.Enter())
        {
            Assert.True(kv.Server.Snapshots.TryBegin(guard.Session, SnapshotPurpose.Replica,
                Path.Combine(_directory, "other.rdb"), () => cancelling = BeginCancelling(kv), done: null, out _));
        }

        await cancelling!;
        Assert.Null(kv.Server.Snapshots.Job);
        Assert.Empty(Directory.GetFileSystemEntries(_directory));
    }

    /// <summary>Has another thread cancel the snapshot.</summary>
    /// <returns>When that waits already.</returns>
    private static Task BeginCancelling(KvInstance kv)
    {
        var cancelled = new TaskCompletionSource();
        var thread = new Thread(() =>
        {
            try
            {
                kv.Server.Snapshots.Cancel();
                cancelled.SetResult();
            }
            catch (ThreadStateException exception)
            {
                cancelled.SetException(exception);
            }
        });
        thread.Start();
        Eventually.Holds(() => cancelled.Task.IsCompleted || (thread.ThreadState & ThreadState.WaitSleepJoin) != 0,
            () => "it does not wait");
        return cancelled.Task;
    }

    [Fact]
    public async Task A_watchdog_is_told_that_the_server_lives_while_a_snapshot_goes_on_and_only_then()
    {
        using var kv = KvInstance.Start("--dir", _directory);
        using var client = kv.Connect();
        for (int i = 0; i < 4000; i++) client.Ok($"SET k{i} {Guid.NewGuid()}{Guid.NewGuid()}");
        using var mayWrite = new SemaphoreSlim(0);
        using var writes = new SemaphoreSlim(0);
        Fault.AtEveryPoint = name =>
        {
            if (name != "rdb.write") return;
            writes.Release();
            mayWrite.Wait();
        };
        try
        {
            client.Send("SAVE");
            await writes.WaitAsync();
            Assert.False(kv.Server.IsServing(TimeSpan.FromMilliseconds(100)));
            var asked = Task.Run(() => kv.Server.IsServing(TimeSpan.FromSeconds(2)));
            // Ends: with the answer. The snapshot has more pieces than are written until then.
            while (!asked.IsCompleted)
            {
                mayWrite.Release();
                await Task.WhenAny(asked, Task.Delay(50));
            }

            Fault.AtEveryPoint = null;
            mayWrite.Release(1000);
            Assert.True(await asked);
            Assert.Equal("OK", client.Read().String);
        }
        finally
        {
            Fault.AtEveryPoint = null;
            mayWrite.Release(1000);
        }
    }
}
