using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Persistence;

/// <summary>A disk that takes nothing any more, in the middle of a snapshot.</summary>
/// <remarks>Alone: points are the process', and other servers in it write snapshots, too.</remarks>
[Collection(Alone.Name)]
public sealed class StuckSnapshotTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-stuck-").FullName;
    private readonly TestClock _clock = new();
    private readonly ManualResetEventSlim _mayWrite = new();

    public void Dispose()
    {
        _mayWrite.Dispose();
        Directory.Delete(_directory, recursive: true);
    }

    [Fact]
    public async Task Where_keys_are_evicted_they_are_for_what_it_holds()
    {
        using var kv = Start("--maxmemory", "32mb", "--maxmemory-policy", "allkeys-lru");
        await WriteWhileStuck(kv, keys: 60, new byte[1 << 20]);
        kv.Server.Store.CheckIntegrity();
    }

    [Fact]
    public async Task Where_there_is_no_limit_writers_go_on()
    {
        using var kv = Start("--rdbcompression", "no");
        await WriteWhileStuck(kv, keys: 40_000, new byte[2000]);
        kv.Server.Store.CheckIntegrity();
    }

    private async Task WriteWhileStuck(KvInstance kv, int keys, byte[] value)
    {
        using var client = kv.Connect();
        await WriteAll(client, keys, value);
        Fault.AtEveryPoint = name =>
        {
            if (name == "rdb.write") _mayWrite.Wait();
        };
        try
        {
            client.Ok("BGSAVE");
            Eventually.Holds(() => kv.Server.Store.Snapshot != null, () => "the snapshot does not begin");
            var writing = WriteAll(client, keys, value);
            Eventually.Holds(() => kv.Server.Store.AwaitsSnapshot, () => "writers do not wait for it");
            _clock.Advance((long)SnapshotPatience.Longest.TotalMilliseconds - 1);
            kv.Server.Store.WaitForRoom(TimeSpan.FromMilliseconds(300));
            Assert.Null(kv.Server.Store.Snapshot!.Failure);
            Eventually.Holds(() =>
            {
                _clock.Advance(1000);       // a first round may have come after the others
                return kv.Server.Store.Snapshot!.Failure != null;
            }, () => "it is not given up");
            await writing;
            using var other = kv.Connect();
            Assert.Equal("1", other.Info("rdb_bgsave_in_progress"));
            _mayWrite.Set();
            Eventually.Holds(() => kv.Server.Snapshots.Job == null, () => "it does not end");
            Assert.Equal("err", other.Info("rdb_last_bgsave_status"));
            Assert.Empty(Directory.GetFileSystemEntries(_directory));
            other.Ok("BGSAVE");
            Eventually.Holds(() => kv.Server.Snapshots.Saves == 1, () => "the next one does not end");
        }
        finally
        {
            _mayWrite.Set();
            Fault.AtEveryPoint = null;
        }
    }

    private static async Task WriteAll(RespClient client, int keys, byte[] value)
    {
        var sending = Task.Run(() =>
        {
            for (int i = 0; i < keys; i++)
                client.Send(RespText.Encode([[.. "SET"u8], RespText.Bytes("key" + i), value]));
        });
        await Task.Run(() =>
        {
            for (int i = 0; i < keys; i++) Assert.Equal("+OK", client.Read().ToString());
        });
        await sending;
    }

    private KvInstance Start(params string[] options) =>
        KvInstance.Start(_clock, ["--dir", _directory, "--worker-threads", "2", .. options]);
}
