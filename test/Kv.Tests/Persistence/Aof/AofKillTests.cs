using System.Collections.Concurrent;
using System.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Persistence.Aof;

/// <summary>Kills the program at any moment, again and again: every write that was answered is there, none that was not
/// sent, and transactions are whole.</summary>
public sealed class AofKillTests : IDisposable
{
    private const int Writers = 4;

    /// <summary>What a kill may cost with everysec, milliseconds of answers: some in general; but the system lets a
    /// write wait for a sync of its file, and that takes what it takes on a busy disk.</summary>
    private const int LossMs = 1000;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-kill-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("always", "epoll")]
    [InlineData("always", "pipelines")]
    [InlineData("everysec", "epoll")]
    public void Every_answered_write_is_there_after_a_kill(string policy, string transport)
    {
        var random = Seed.NewRandom();
        var budget = TimeBudget.OfSeconds(6);
        var writers = Enumerable.Range(0, Writers).Select(i => new Writer(i)).ToArray();
        int kills = 0;
        // Ends: with the time.
        while (budget.Continues)
        {
            using var kv = KvProcess.Start("--dir", _directory, "--appendonly", "yes", "--appendfsync", policy,
                "--transport", transport, "--save", "", "--auto-aof-rewrite-min-size", "20kb",
                "--auto-aof-rewrite-percentage", policy == "always" ? "30" : "0", "--enable-debug-command", "yes");
            using (var client = kv.Connect())
            {
                foreach (var writer in writers) writer.Check(client, policy == "always" ? 0 : LossMs, kv.Log);
                client.Ok("DEBUG INTEGRITY");
            }

            var threads = writers.Select(writer => new Thread(() => writer.Run(kv)) { IsBackground = true }).ToArray();
            foreach (var thread in threads) thread.Start();
            Thread.Sleep(random.Next(20, 250));
            if (policy == "always" && random.Next(3) == 0)
            {
                using var client = kv.Connect();
                client.Send("BGREWRITEAOF");
                Thread.Sleep(random.Next(30));
            }

            kv.Process.Kill();
            long killed = Stopwatch.GetTimestamp();
            foreach (var writer in writers) writer.Killed = killed;
            foreach (var thread in threads) thread.Join();
            kills++;
        }

        TestContext.Current.TestOutputHelper?.WriteLine(
            $"{policy}, {transport}: {kills} kills, {writers.Sum(writer => writer.Answered)} writes answered");
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void Much_that_is_written_at_once_is_answered_when_it_is_in_the_file(string transport)
    {
        const int keys = 500_000;
        string[] options = ["--dir", _directory, "--appendonly", "yes", "--transport", transport, "--save", ""];
        using (var kv = KvProcess.Start(options))
        using (var client = kv.Connect())
        {
            client.Ok($"EVAL \"for i = 1, {keys} do redis.call('SET', 'key:' .. i, i) end\" 0");
            kv.Process.Kill();
            kv.WaitForExit();
        }

        using var next = KvProcess.Start(options);
        using var again = next.Connect();
        Assert.Equal(keys, again.Ok("DBSIZE").Integer);
    }

    /// <summary>A client that counts: a key of its own, and two that a transaction changes together.</summary>
    private sealed class Writer(int number)
    {
        private readonly ConcurrentQueue<(long Value, long Ticks)> _recent = new();
        private long _sent, _answered;

        public long Answered => _answered;

        public long Killed { get; set; }

        public void Run(KvProcess kv)
        {
            try
            {
                using var client = kv.Connect();
                while (true)
                {
                    // Ends: with the server.
                    int count = 1 + (number * 3);
                    var bytes = new MemoryStream();
                    for (int i = 0; i < count; i++)
                    {
                        long next = ++_sent;
                        string[] lines = next % 3 != 0 ? [$"SET n{number} {next}"]
                            : ["MULTI", $"SET n{number} {next}", $"SET m{number} {next}", "EXEC"];
                        foreach (string line in lines) bytes.Write(RespText.Encode(line));
                    }

                    client.Send(bytes.ToArray());

                    for (long value = _sent - count + 1; value <= _sent; value++)
                    {
                        int replies = value % 3 == 0 ? 4 : 1;
                        for (int i = 0; i < replies; i++) Assert.False(client.Read().IsError);
                        _answered = value;
                        _recent.Enqueue((value, Stopwatch.GetTimestamp()));
                    }
                }
            }
            catch (Exception exception) when (exception is IOException or System.Net.Sockets.SocketException)
            {
                // It was killed.
            }
        }

        public void Check(RespClient client, int lossMs, string log)
        {
            long n = Number(client.Ok($"GET n{number}")), m = Number(client.Ok($"GET m{number}"));
            long answered = lossMs == 0 ? _answered : _recent
                .Where(one => Stopwatch.GetElapsedTime(one.Ticks, Killed).TotalMilliseconds > lossMs)
                .Select(one => one.Value).DefaultIfEmpty(0).Max();
            Assert.True(n >= answered && n <= _sent,
                $"writer {number}: {n} is there, {answered} were answered, {_sent} sent; {log}");
            Assert.Equal(n / 3 * 3, m);
            _recent.Clear();
            _answered = _sent = n;
        }

        private static long Number(Reply reply) =>
            reply.IsNull ? 0 : reply.Integer;
    }
}
