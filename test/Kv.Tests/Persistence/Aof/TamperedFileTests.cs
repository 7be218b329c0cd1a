using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>Somebody removes or changes files while they are written: nothing more is said to be safe.</summary>
public sealed class TamperedFileTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-removed-").FullName;

    private string Folder => Path.Combine(_directory, "appendonlydir");

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void Always_acknowledges_nothing_after_the_folder_has_moved_and_goes_on_when_it_is_back()
    {
        string moved = Folder + ".moved";
        using (var kv = Start("always"))
        using (RespClient client = kv.Connect(), other = kv.Connect())
        {
            client.Ok("SET a 1");
            Directory.Move(Folder, moved);
            client.Send("SET a 2");
            Eventually.Holds(() => other.Info("aof_last_write_status") == "err", () => kv.Log);
            string refusal = other.Command("SET b 1").String;
            Assert.StartsWith("MISCONF", refusal, StringComparison.Ordinal);
            Assert.Contains("is gone", refusal, StringComparison.Ordinal);
            Assert.False(client.HasInput, "it is in no file that a start would read");
            Directory.Move(moved, Folder);
            Assert.Equal("OK", client.Read().String);
            Eventually.Holds(() => !other.Command("SET b 2").IsError, () => kv.Log);
            kv.Signal("KILL");
            kv.WaitForExit();
        }

        AssertHas("2", "2");
    }

    [Theory]
    [InlineData("everysec", "appendonly.aof.1.incr.aof")]
    [InlineData("everysec", "appendonly.aof.manifest")]
    [InlineData("no", "appendonly.aof.1.incr.aof")]
    [InlineData("always", "")]
    public void Off_and_on_begins_the_files_anew(string policy, string file)
    {
        using (var kv = Start(policy))
        using (var client = kv.Connect())
        {
            client.Ok("SET a 1");
            if (file.Length > 0) File.Delete(Path.Combine(Folder, file));
            else Directory.Delete(Folder, recursive: true);
            Eventually.Holds(() => client.Info("aof_last_write_status") == "err", () => kv.Log);
            Assert.StartsWith("MISCONF", client.Command("SET a 2").String, StringComparison.Ordinal);
            Assert.Equal("1", client.Ok("GET a").String);
            client.Ok("CONFIG SET appendonly no");
            Eventually.Holds(() => client.Info("aof_enabled") == "0", () => kv.Log);
            client.Ok("CONFIG SET appendonly yes");
            Eventually.Holds(() => client.Info("aof_enabled") == "1" && client.Info("aof_rewrite_in_progress") == "0",
                () => kv.Log);
            client.Say("SET a 3\nSET b 1");
            kv.Signal("TERM");
            kv.WaitForExit();
        }

        AssertHas("3", "1");
    }

    [Fact]
    public void Nothing_is_written_after_a_file_that_could_not_be_loaded_again()
    {
        using var kv = KvProcess.Start("--dir", _directory, "--appendonly", "yes", "--enable-debug-command", "yes");
        using var client = kv.Connect();
        for (int i = 0; i < 100; i++) client.Ok($"SET k{i} {i}");
        client.Ok("WAITAOF 1 0 0");
        string file = Path.Combine(Folder, "appendonly.aof.1.incr.aof");
        byte[] bytes = File.ReadAllBytes(file);
        bytes[bytes.Length / 2] ^= 1;
        File.WriteAllBytes(file, bytes);
        Assert.Contains("at offset", client.Command("DEBUG LOADAOF").String, StringComparison.Ordinal);
        Assert.StartsWith("MISCONF", client.Command("SET a 1").String, StringComparison.Ordinal);
        client.Ok("CONFIG SET appendonly no");
        Eventually.Holds(() => client.Info("aof_enabled") == "0", () => kv.Log);
        client.Ok("SET a 1");
    }

    private void AssertHas(string a, string b)
    {
        using var next = Start("always");
        using var again = next.Connect();
        Assert.Equal((a, b), (again.Ok("GET a").String, again.Ok("GET b").String));
    }

    private KvProcess Start(string policy) =>
        KvProcess.Start("--dir", _directory, "--appendonly", "yes", "--appendfsync", policy);
}
