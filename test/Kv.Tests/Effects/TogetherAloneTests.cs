using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Commands that stop all others, from several clients at once: each is done, none is refused.</summary>
public sealed class TogetherAloneTests
{
    private const int Clients = 4, CallsOfEach = 300;

    [Theory]
    [InlineData("SWAPDB 0 1")]
    [InlineData("FLUSHALL")]
    [InlineData("FLUSHDB")]
    [InlineData("SAVE")]
    [InlineData("DEBUG RELOAD")]
    [InlineData("DEBUG LOADAOF")]
    [InlineData("DEBUG DIGEST")]
    [InlineData("DEBUG INTEGRITY")]
    public async Task Clients_that_stop_all_others_at_once_come_one_after_another(string command)
    {
        string directory = Directory.CreateTempSubdirectory("kv-alone-").FullName;
        try
        {
            using var kv = KvInstance.StartOnDisk(directory, "--appendonly", "yes", "--worker-threads", "4",
                "--enable-debug-command", "yes");
            int calls = command is "SAVE" or "DEBUG LOADAOF" ? CallsOfEach / 10 : CallsOfEach;
            await Task.WhenAll(Enumerable.Range(0, Clients).Select(_ => Task.Factory.StartNew(
                () => Call(kv, command, calls), TaskCreationOptions.LongRunning)));
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    private static void Call(KvInstance kv, string command, int calls)
    {
        using var client = kv.Connect();
        for (int i = 0; i < calls; i++) client.Ok(command);
    }
}
