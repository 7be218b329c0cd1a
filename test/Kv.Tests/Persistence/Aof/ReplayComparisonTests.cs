using Kv.Tests.Effects;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>The same file, loaded by the reference and by Kv, long after the times in it: the same data.</summary>
public sealed class ReplayComparisonTests : IDisposable
{
    private const int Commands = 2000;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-replay-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void Random_files_make_the_same_data_in_both()
    {
        var random = Seed.NewRandom();
        int files = TimeBudget.Count(6);
        for (int file = 0; file < files; file++)
        {
            var commands = new ReplayedCommands(random).Draw(Commands);
            Check(commands, $"{Seed.Hint}, file {file}");
        }
    }

    [Theory]
    [InlineData("SET k px PXAT 1700000000000\nPERSIST k")]
    [InlineData("SET k ex PXAT 1700000000000\nBITOP NOT d k\nDEL k")]
    [InlineData("HSET k fields ex\nPEXPIREAT k 1700000000000\nCOPY k d\nPERSIST d")]
    public void What_was_loaded_otherwise(string commands) =>
        Check([.. commands.Split('\n').Select(RespText.Split)], commands);

    private void Check(byte[][][] commands, string where)
    {
        string ours = Put("ours", commands), theirs = Put("theirs", commands);
        using var redis = RedisServer.Start("--dir", theirs, "--appendonly", "yes");
        using var kv = KvInstance.StartOnDisk(ours, "--appendonly", "yes", "--enable-debug-command", "yes");
        string? difference = null;
        // What has expired goes soon after the start, on both sides.
        Eventually.Holds(() => (difference = FeedState.Compare(kv, redis)) == null, () => $"{where}: {difference}");
    }

    private string Put(string name, byte[][][] commands)
    {
        string directory = Path.Combine(_directory, name), files = Path.Combine(directory, "appendonlydir");
        if (Directory.Exists(directory)) Directory.Delete(directory, recursive: true);
        Directory.CreateDirectory(files);
        File.WriteAllBytes(Path.Combine(files, "appendonly.aof.1.incr.aof"),
            [.. commands.SelectMany(words => RespText.Encode(words))]);
        File.WriteAllText(Path.Combine(files, "appendonly.aof.manifest"),
            "file appendonly.aof.1.incr.aof seq 1 type i\n");
        return directory;
    }
}
