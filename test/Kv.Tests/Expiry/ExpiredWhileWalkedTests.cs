using Kv.Tests.Harness;

namespace Kv.Tests.Expiry;

/// <summary>Keys whose time has passed, while they are taken out and others walk the index.</summary>
public sealed class ExpiredWhileWalkedTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-expired-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    // With the file on, taking a key out takes longer.
    [Fact]
    public void Whoever_lists_keys_sees_none_of_them()
    {
        const int rounds = 20, keys = 2000;
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--enable-debug-command", "yes");
        using RespClient client = kv.Connect(), sweeper = kv.Connect();
        for (int round = 0; round < rounds; round++)
        {
            client.Ok("DEBUG SET-ACTIVE-EXPIRE 0");
            for (int i = 0; i < keys; i += 100)
                client.Say(string.Join('\n', Enumerable.Range(i, 100).Select(key => $"SET key:{key} v PX 1")));
            Eventually.Holds(() => client.Ok("KEYS *").Items!.Count == 0, () => "they do not expire");
            Assert.Equal(keys, client.Ok("DBSIZE").Integer);
            sweeper.Ok("DEBUG SET-ACTIVE-EXPIRE 1");
            // Ends: with the keys.
            while (client.Ok("DBSIZE").Integer > 0)
            {
                Assert.Empty(client.Ok("KEYS *").Items!);
                Assert.Empty(client.Ok("SCAN 0 COUNT 100000").Items![1].Items!);
                Assert.True(client.Ok("RANDOMKEY").IsNull);
            }
        }
    }
}
