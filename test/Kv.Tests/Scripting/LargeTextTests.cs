using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Texts that take long to read and compile: only the client who sent one waits for it.</summary>
/// <remarks>Alone: what is called at the points is the process'.</remarks>
[Collection(Alone.Name)]
public sealed class LargeTextTests
{
    private static readonly string Filler = string.Concat(Enumerable.Repeat("do local x = 1 end\n", 1000));

    private static readonly string Library = "#!lua name=long\n"
        + "redis.register_function('five', function() return 5 end)\n" + Filler;

    public static TheoryData<string, string> Commands => new()
    {
        { "epoll", "EVAL" }, { "epoll", "EVAL_RO" }, { "epoll", "SCRIPT" }, { "epoll", "FUNCTION" },
        { "epoll", "RESTORE" }, { "epoll", "1MB" }, { "pipelines", "EVAL" }, { "pipelines", "FUNCTION" },
        { "pipelines", "1MB" },
    };

    [Theory, MemberData(nameof(Commands))]
    public void Others_of_the_worker_go_on_while_a_text_is_read(string transport, string kind)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using RespClient sends = server.Connect(), other = server.Connect();
        var (words, expected) = Case(server, kind);
        using (var reading = new HeldReading())
        {
            sends.Send([.. RespText.Encode(Words(words)), .. RespText.Encode("ECHO behind")]);
            reading.AwaitBegun();
            for (int i = 0; i < 10; i++) Assert.Equal("OK", other.Command($"SET key{i} value").String);
            Assert.Equal("1", other.Command(Words("EVAL", "return '1'", "0")).String);
            Assert.False(sends.HasInput);
        }

        Assert.Equal(expected, sends.Read().ToString());
        Assert.Equal("behind", sends.Read().String);
    }

    [Fact]
    public void A_client_who_is_killed_is_not_waited_for()
    {
        using var server = KvInstance.Start("--worker-threads", "1");
        using var other = server.Connect();
        using (var reading = new HeldReading())
        {
            using (var sends = server.Connect())
            {
                sends.Send(RespText.Encode(Words(Case(server, "EVAL").Words)));
                reading.AwaitBegun();
                other.Ok("CLIENT KILL TYPE normal SKIPME yes");
                Assert.True(sends.IsClosedByServer());
            }

            Eventually.Holds(() => other.Info("connected_clients") == "1", () => "it has not left");
        }

        Assert.Equal("1", other.Command(Words("EVAL", "return '1'", "0")).String);
    }

    [Fact]
    public void However_many_send_texts_no_thread_of_the_pool_is_kept()
    {
        using var server = KvInstance.Start("--transport", "pipelines");
        using var other = server.Connect();
        string[] kinds = ["EVAL", "FUNCTION", "RESTORE", "1MB"];
        var cases = kinds.Select(kind => Case(server, kind)).ToList();
        var clients = Enumerable.Range(0, 4 * Environment.ProcessorCount).Select(_ => server.Connect()).ToList();
        var reading = new HeldReading();
        using (reading)
        {
            for (int i = 0; i < clients.Count; i++)
                clients[i].Send(RespText.Encode(Words(cases[i % cases.Count].Words)));
            reading.AwaitBegun();
            for (int i = 0; i < 10; i++) Assert.Equal("OK", other.Command($"SET key{i} value").String);
        }

        for (int i = 0; i < clients.Count; i++)
        {
            string reply = clients[i].Read().ToString();
            // A library is there already, when somebody else's was loaded first.
            if (cases[i % cases.Count].Words[0] != "FUNCTION") Assert.Equal(cases[i % cases.Count].Expected, reply);
            clients[i].Dispose();
        }

        Assert.Equal(0, reading.PoolThreads);
    }

    // A clock that goes on by a millisecond whenever somebody asks: the library takes 200 looks at it.
    [Theory]
    [InlineData(false, "endures")]
    [InlineData(true, "ERR Error registering functions: ERR FUNCTION LOAD timeout")]
    public void In_EXEC_a_library_may_take_a_fifth_of_the_time(bool inExec, string expected)
    {
        using var server = KvInstance.Start(new AskedClock());
        using var client = server.Connect();
        byte[][] load = Words("FUNCTION", "LOAD", "#!lua name=endures\nfor i = 1, 400000 do end\n"
            + "redis.register_function('f', function() end)");
        if (inExec) client.Ok("MULTI");
        var reply = client.Command(load);
        if (inExec) reply = client.Ok("EXEC").Items![0];
        Assert.Equal(expected, reply.String);
    }

    // Below and above each of the lengths from which on something is done elsewhere: compiled, looked up; new, known.
    [Theory]
    [InlineData(16383)]
    [InlineData(16384)]
    [InlineData(262144)]
    [InlineData(262145)]
    [InlineData(1048576)]
    [InlineData(3000001)]
    public void Texts_of_every_length_do_what_they_say(int bytes)
    {
        using var server = KvInstance.Start("--worker-threads", "1");
        using var client = server.Connect();
        string head = "return {KEYS[1], ARGV[2], #ARGV, redis.call('INCR', KEYS[1])}";
        string text = head + new string(' ', bytes - head.Length);
        for (int i = 1; i <= 3; i++)
            Assert.Equal($"[key, b, 2, {i}]", Shown(client.Command(Words("EVAL", text, "1", "key", "a", "b"))));
        client.Ok("SCRIPT FLUSH");
        string sha = client.Command(Words("SCRIPT", "LOAD", text)).String;
        Assert.Equal(sha, client.Command(Words("SCRIPT", "LOAD", text)).String);
        Assert.Equal("[key, b, 2, 4]", Shown(client.Command(Words("EVALSHA", sha, "1", "key", "a", "b"))));
        client.Ok("MULTI");
        client.Ok("SCRIPT FLUSH");
        client.Command(Words("EVAL", text, "1", "key", "a", "b"));
        Assert.Equal("[key, b, 2, 5]", Shown(client.Ok("EXEC").Items![1]));
        string broken = text + ")";
        Assert.Equal("ERR Error compiling script (new function): user_script:1: '<eof>' expected near ')'",
            client.Command(Words("EVAL", broken, "0")).String);
        Assert.Equal("ERR Number of keys can't be greater than number of args",
            client.Command(Words("EVAL", broken, "1")).String);
    }

    private sealed class AskedClock : TimeProvider
    {
        private long _ms;

        public override long TimestampFrequency => 1000;

        public override long GetTimestamp() => Interlocked.Increment(ref _ms);
    }

    private static (string[] Words, string Expected) Case(KvInstance server, string kind)
    {
        const string read = "return redis.call('GET', KEYS[1])";
        using var client = server.Connect();
        client.Ok("SET it here");
        switch (kind)
        {
            case "EVAL" or "EVAL_RO": return ([kind, Filler + read, "1", "it"], Known("here"));
            case "1MB": return (["EVAL", "--" + new string('x', 1 << 20) + "\n" + read, "1", "it"], Known("here"));
            case "SCRIPT": return (["SCRIPT", "LOAD", "return 5" + new string(' ', 20_000)],
                Known(Convert.ToHexStringLower(System.Security.Cryptography.SHA1.HashData(
                    Encoding.ASCII.GetBytes("return 5" + new string(' ', 20_000))))));
            case "FUNCTION": return (["FUNCTION", "LOAD", Library], Known("long"));
            default:
                client.Command(Words("FUNCTION", "LOAD", "#!lua name=s\nredis.register_function('f', function() end)"));
                return (["FUNCTION", "RESTORE",
                    Encoding.Latin1.GetString(client.Ok("FUNCTION DUMP").Text!), "REPLACE"], "+OK");
        }

        // As the reply shows itself.
        string Known(string text) => client.Command(Words("ECHO", text)).ToString();
    }

    private static string Shown(Reply reply) => $"[{string.Join(", ", reply.Items!.Select(item => item.String))}]";

    private static byte[][] Words(params string[] words) => Array.ConvertAll(words, Encoding.Latin1.GetBytes);

    /// <summary>While it is there, whoever reads a text is held up.</summary>
    private sealed class HeldReading : IDisposable
    {
        private readonly ManualResetEventSlim _begun = new(), _mayGoOn = new();
        private int _poolThreads;

        public HeldReading() => Fault.AtEveryPoint = point =>
        {
            if (point != "script.read") return;
            if (Thread.CurrentThread.IsThreadPoolThread) Interlocked.Increment(ref _poolThreads);
            _begun.Set();
            _mayGoOn.Wait();
        };

        /// <summary>How many threads of the pool it holds up.</summary>
        public int PoolThreads => Volatile.Read(ref _poolThreads);

        public void AwaitBegun() => Assert.True(_begun.Wait(TimeSpan.FromSeconds(60)), "nobody reads a text");

        // The events stay: those who are held up have not gone on yet.
        public void Dispose()
        {
            Fault.AtEveryPoint = null;
            _mayGoOn.Set();
        }
    }
}
