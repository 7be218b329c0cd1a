using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>The append-only file switched off and at once on again: it says that it has what it has.</summary>
[Collection(Alone.Name)]
public sealed class SwitchedOffAndOnTests : IDisposable
{
    private const int Rounds = 200;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-off-on-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void What_WAITAOF_says_is_on_the_disk_is_in_the_files()
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", "always");
        using RespClient client = kv.Connect(), other = kv.Connect();
        for (int round = 0; round < Rounds; round++)
        {
            string key = $"key-of-round-{round}-";
            client.Ok("CONFIG SET appendonly no");
            // Some rounds find it still on, some off, some on its way.
            for (int i = 0; i < round % 20; i++) other.Ok("INCR spins");
            client.Ok("CONFIG SET appendonly yes");
            client.Ok($"SET {key} 1");
            bool isLocal = client.Command("WAITAOF 1 0 1").Items![0].Integer == 1;
            string info = client.Ok("INFO persistence").String!;
            bool seemsOn = info.Contains("aof_enabled:1") && info.Contains("aof_rewrite_in_progress:0")
                && info.Contains("aof_rewrite_scheduled:0");
            if (isLocal || seemsOn) Assert.True(IsInFiles(key), $"round {round}: {(isLocal ? "WAITAOF" : "INFO")}");
            Eventually.Holds(() => client.Command("WAITAOF 1 0 1").Items![0].Integer == 1, () => "it is on again");
            Assert.True(IsInFiles(key), $"round {round}, at its end");
        }
    }

    [Fact]
    public void Who_has_written_before_does_not_wait_for_the_new_file()
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", "always");
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Ok("SET a 1");
        other.Ok("CONFIG SET appendonly no");
        Eventually.Holds(() => !kv.Server.Aof.IsOn, () => "it is off");
        other.Ok("CONFIG SET appendonly yes");
        Eventually.Holds(() => kv.Server.Aof.IsOn, () => "it is on");
        Assert.Equal("1", client.Ok("GET a").String);
        Assert.Equal(1, client.Command("WAITAOF 1 0 0").Items![0].Integer);
    }

    private bool IsInFiles(string key)
    {
        // Ends: a file is deleted only once there is another one in its place, and that only a few times a round.
        while (true)
        {
            try
            {
                return Directory.GetFiles(Path.Combine(_directory, "appendonlydir"), "appendonly*")
                    .Any(file => Read(file).AsSpan().IndexOf(Encoding.ASCII.GetBytes(key)) >= 0);
            }
            catch (FileNotFoundException)
            {
                // Gone since the folder was read: what it had is in another one.
            }
        }
    }

    private static byte[] Read(string file)
    {
        using var stream = new FileStream(file, FileMode.Open, FileAccess.Read,
            FileShare.ReadWrite | FileShare.Delete);
        byte[] bytes = new byte[stream.Length];
        stream.ReadExactly(bytes);
        return bytes;
    }
}
