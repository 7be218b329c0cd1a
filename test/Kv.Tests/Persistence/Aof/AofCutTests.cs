using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>Where a base ends and an increment begins is never in the middle of an EXEC or script, and what is in the
/// base is done by no increment again.</summary>
public sealed class AofCutTests : IDisposable
{
    private const int Accounts = 200, Movers = 3;

    /// <summary>More keys than an EXEC has at once: it is done in steps, and others have turns in between.</summary>
    private const int ManyKeys = 6000;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-cut-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("BGREWRITEAOF", "yes")]
    [InlineData("BGSAVE", "yes")]
    [InlineData("CONFIG SET appendonly yes", "no")]
    public void In_the_middle_of_a_transaction_it_is_after_it(string command, string appendOnly)
    {
        using var kv = KvInstance.StartOnDisk(Folder("live"), "--appendonly", appendOnly,
            "--enable-debug-command", "yes", "--enable-protected-configs", "yes");
        using var client = kv.Connect();
        client.Say("SET n 1\nSET other 1");
        client.Say($"MULTI\nINCR n\nRPUSH l a\nSPOP s\n{command}\nINCR n\nRPUSH l b\nEXEC");
        client.Say($"MULTI\nINCR n\n{command}\nDBSIZE\nINCR other\nEXEC");       // all others are stopped
        client.Ok("INCR n");
        Settle(client);
        if (appendOnly == "no") Eventually.Holds(() => client.Info("aof_enabled") == "1", () => "it is off");
        AssertSame(kv, client);
    }

    [Fact]
    public void It_can_be_loaded_again_in_the_middle_of_a_transaction()
    {
        using var kv = KvInstance.StartOnDisk(Folder("live"), "--appendonly", "yes", "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("SET n 1");
        client.Say("MULTI\nINCR n\nDEBUG LOADAOF\nINCR n\nEXEC");
        Assert.Equal("3", client.Ok("GET n").String);
        client.Say("MULTI\nINCR n\nRPUSH l a\nDBSIZE\nDEBUG LOADAOF\nINCR n\nEXEC");
        Assert.Equal("5", client.Ok("GET n").String);
        AssertSame(kv, client);
    }

    [Fact]
    public async Task While_clients_move_sums_it_is_between_two_transfers()
    {
        using var kv = KvInstance.StartOnDisk(Folder("live"), "--appendonly", "yes", "--enable-debug-command", "yes",
            "--enable-protected-configs", "yes", "--worker-threads", "2");
        using var client = kv.Connect();
        client.Ok("MSET " + string.Join(' ', Enumerable.Range(0, Accounts).Select(i => $"a{i} 100")));
        for (int round = 0; round < 4; round++)
        {
            bool isOver = false;
            int seeded = round;
            var movers = Task.WhenAll(Enumerable.Range(0, Movers).Select(number => Task.Factory.StartNew(() =>
            {
                using var mover = kv.Connect();
                var random = Seed.NewRandom(Seed.Value, (seeded * Movers) + number);
                while (!Volatile.Read(ref isOver)) Move(mover, random, number);
            }, TaskCreationOptions.LongRunning)));
            if (round % 2 == 1)
            {
                client.Ok("CONFIG SET appendonly no");
                Eventually.Holds(() => client.Info("aof_enabled") == "0" && !kv.Server.Aof.IsOn, () => "it is on");
                client.Ok("CONFIG SET appendonly yes");
                Eventually.Holds(() => kv.Server.Aof.IsOn, () => "it is off");
            }

            client.Command("BGREWRITEAOF");     // it may be on its way already
            Settle(client);
            Volatile.Write(ref isOver, true);
            await movers;
            var sums = AssertSame(kv, client);
            Assert.Equal(Accounts * 100L, sums);
        }
    }

    private static void Move(RespClient mover, Random random, int number)
    {
        string from = $"a{random.Next(Accounts)}", to = $"a{random.Next(Accounts)}";
        int sum = random.Next(10);
        if (number == 0)
        {
            mover.Ok("EVAL \"redis.call('DECRBY', KEYS[1], ARGV[1]); redis.call('INCRBY', KEYS[2], ARGV[1])\" 2 "
                + $"{from} {to} {sum}");
            return;
        }

        mover.Send("MULTI");
        mover.Send($"DECRBY {from} {sum}");
        bool isLong = number == 1 && random.Next(10) == 0;
        if (isLong) mover.Send("DEL " + string.Join(' ', Enumerable.Range(0, ManyKeys).Select(i => $"none{i}")));
        mover.Send($"INCRBY {to} {sum}");
        mover.Send("EXEC");
        for (int i = 0; i < (isLong ? 5 : 4); i++) mover.Read();
    }

    /// <summary>Waits until no file is being written anew.</summary>
    private static void Settle(RespClient client) => Eventually.Holds(
        () => client.Info("aof_rewrite_in_progress") == "0" && client.Info("aof_rewrite_scheduled") == "0"
            && client.Info("rdb_bgsave_in_progress") == "0", () => client.Ok("INFO persistence").String);

    /// <summary>Compares with what another server has that starts from the files as they are.</summary>
    /// <returns>The sum of the accounts there.</returns>
    private long AssertSame(KvInstance kv, RespClient client)
    {
        client.Ok("WAITAOF 1 0 0");
        long position = kv.Server.Feed.Position;
        Eventually.Holds(() => kv.Server.Aof.DurableTicket >= position, () => "not all is on the disk");
        string copy = Folder("copy"), files = Path.Combine(copy, "appendonlydir");
        if (Directory.Exists(files)) Directory.Delete(files, recursive: true);
        Directory.CreateDirectory(files);
        foreach (string file in Directory.GetFiles(Path.Combine(_directory, "live", "appendonlydir"), "append*"))
            File.Copy(file, Path.Combine(files, Path.GetFileName(file)));
        using var next = KvInstance.StartOnDisk(copy, "--appendonly", "yes", "--enable-debug-command", "yes");
        using var reader = next.Connect();
        Assert.Equal(client.Ok("DEBUG DIGEST").String, reader.Ok("DEBUG DIGEST").String);
        return reader.Ok("MGET " + string.Join(' ', Enumerable.Range(0, Accounts).Select(i => $"a{i}"))).Items!
            .Sum(item => item.Text == null ? 0 : long.Parse(item.String));
    }

    private string Folder(string name) => Directory.CreateDirectory(Path.Combine(_directory, name)).FullName;
}
