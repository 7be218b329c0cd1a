using System.Runtime.ExceptionServices;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Who meets a key that a long command holds comes again in later turns, and does a step of that command in
/// each: the worker's other clients have turns in between.</summary>
public sealed class ComingAgainTests : IDisposable
{
    private const int Fields = 60_000;

    private readonly KvInstance _server = KvInstance.Start();
    private readonly WindowClient _long, _other;

    public ComingAgainTests()
    {
        _long = new WindowClient(_server);
        _other = new WindowClient(_server);
        for (int i = 0; i < Fields; i += 1000)
            _long.Run("HSET h " + string.Join(' ', Enumerable.Range(i, 1000).Select(n => $"f{n} v")));
    }

    [Theory]
    [InlineData("HGET h f77", "$1\r\nv\r\n")]
    [InlineData("HLEN h", ":60000\r\n")]
    [InlineData("HSET h f77 w", ":0\r\n")]
    [InlineData("HDEL h f77 f77", ":1\r\n")]
    [InlineData("HSET h f77 {0}", ":0\r\n")]
    [InlineData("HMGET h {1}", "*30000\r\n")]
    [InlineData("DEL a h", ":1\r\n")]
    [InlineData("EXISTS a h", ":1\r\n")]
    [InlineData("MGET a h", "*2\r\n$-1\r\n$-1\r\n")]
    [InlineData("EXPIRE h 100", ":1\r\n")]
    [InlineData("SET h v", "+OK\r\n")]
    [InlineData("SET h v NX", "$-1\r\n")]
    [InlineData("RENAME h a", "+OK\r\n")]
    [InlineData("LPUSH h v", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n")]
    public void Commands_come_again(string line, string expected)
    {
        line = line.Replace("{0}", new string('x', 200_000), StringComparison.Ordinal)
            .Replace("{1}", string.Join(' ', Enumerable.Range(0, 30_000)), StringComparison.Ordinal);
        Assert.StartsWith(expected, Meet(line), StringComparison.Ordinal);
        Assert.True(_other.Turns > 5, $"it was done in {_other.Turns} turns");
    }

    // The last ones need the key, too: what comes behind a command that waits comes behind it.
    [Fact]
    public void Pipelines_keep_their_order() =>
        Assert.Equal("+PONG\r\n:60000\r\n:1\r\n:60001\r\n+PONG\r\n",
            Meet("PING\r\nHLEN h\r\nHSET h new v\r\nHLEN h\r\nPING\r\n"));

    // Of one name, they are run one right after the other.
    [Theory]
    [InlineData("HSET a f v\r\nHSET h f77 w\r\n", ":1\r\n:0\r\n")]
    [InlineData("LPUSH a v\r\nLPUSH a v\r\nLPUSH h v\r\n", ":1\r\n:2\r\n-WRONGTYPE")]
    public void A_command_comes_again_whatever_those_before_it_have_changed(string lines, string expected)
    {
        Assert.StartsWith(expected, Meet(lines), StringComparison.Ordinal);
        Assert.True(_other.Turns > 5, $"it was done in {_other.Turns} turns");
    }

    [Fact]
    public void A_reply_that_nobody_wants_is_not_written() =>
        Assert.Equal("$1\r\nv\r\n", Meet("CLIENT REPLY SKIP\r\nHLEN h\r\nHGET h f1\r\n"));

    [Fact]
    public void Each_is_counted_once()
    {
        Meet("HLEN h");
        using var client = _server.Connect();
        Assert.Contains("cmdstat_hlen:calls=1,", client.Command("INFO commandstats").ToString(),
            StringComparison.Ordinal);
        long commands = long.Parse(client.Info("total_commands_processed"));
        Meet("HLEN h");
        // HGETALL, HLEN and INFO.
        Assert.Equal(commands + 3, long.Parse(client.Info("total_commands_processed")));
    }

    // It was begun in each turn, and given up by an exception: of thirty clients that wanted one key an eighth of the
    // processor went to that.
    [Theory]
    [InlineData("HLEN h")]
    [InlineData("MULTI\r\nHLEN h\r\nSET a v\r\nEXEC\r\n")]
    [InlineData("EVAL \"return redis.call('HLEN', KEYS[1])\" 2 h a")]
    public void A_command_is_begun_anew_only_when_the_work_that_has_its_key_is_done(string lines)
    {
        int givenUp = CountGivenUp(() => Assert.Contains(":60000\r\n", Meet(lines), StringComparison.Ordinal));
        Assert.True(_other.Turns > 5, $"it was done in {_other.Turns} turns");
        Assert.Equal(1, givenUp);
    }

    // At each place where it may be met. Those that hold another key did no step of it before, but waited for the
    // other client's turn.
    [Theory]
    [InlineData("GET k7")]
    [InlineData("MULTI\r\nGET k7\r\nSET k8 w\r\nEXEC\r\n")]
    [InlineData("EVAL \"return redis.call('GET', KEYS[1])\" 2 k7 k8")]
    public void And_when_the_work_that_has_very_many_keys_is_done(string lines)
    {
        string all = "MSET " + string.Join(' ', Enumerable.Range(0, 5000).Select(i => $"k{i} v"));
        _long.Run(all);
        int most = 0;
        for (int at = 1, turns = at; at <= turns; at++)
        {
            int now = at;
            string? reply = null;
            _long.Between = turn =>
            {
                if (turn == now) reply = RunOther(lines);
            };
            most = Math.Max(most, CountGivenUp(() => _long.Run(all)));
            turns = Math.Max(turns, _long.Steps);
            if (reply != null) Assert.Contains("$1\r\nv\r\n", reply, StringComparison.Ordinal);
        }

        Assert.Equal(1, most);
    }

    [Fact]
    public void And_when_there_is_a_place()
    {
        var clients = Enumerable.Range(0, SteppedHolds.WaitedUsesMax).Select(_ => new WindowClient(_server)).ToList();
        for (int i = 0; i < clients.Count; i++) _long.Run($"COPY h h{i}");
        int givenUp = 0;
        for (int i = 0; i < clients.Count; i++)
        {
            int next = i + 1;
            clients[i].Between = _ =>
            {
                clients[next - 1].Between = null;
                if (next < clients.Count) clients[next].Run($"HGETALL h{next}");
                else givenUp = CountGivenUp(() => _other.Run("HGETALL h"));
            };
        }

        clients[0].Run("HGETALL h0");
        clients.ForEach(client => client.Dispose());
        Assert.True(_other.Turns > _other.Steps + 5, $"{_other.Turns} turns, {_other.Steps} steps");
        Assert.Equal(1, givenUp);
    }

    // Others may be quicker each time.
    [Fact]
    public void Who_has_waited_for_long_does_the_rest()
    {
        _other.ComesAgainSince(_server.Server.TickMs - 60_000);
        Assert.Equal(":60000\r\n", Meet("HLEN h"));
        Assert.Equal(2, _other.Turns);
        Assert.Equal(":60000\r\n", Meet("HLEN h"));
        Assert.True(_other.Turns > 5, $"the next one was done in {_other.Turns} turns");
    }

    [Fact]
    public void Long_commands_on_other_keys_wait_for_a_place()
    {
        const int count = SteppedHolds.WaitedUsesMax + 1;
        var clients = Enumerable.Range(0, count).Select(_ => new WindowClient(_server)).ToList();
        for (int i = 0; i < clients.Count; i++) _long.Run($"COPY h h{i}");
        for (int i = 0; i < clients.Count; i++)
        {
            int next = i + 1;
            clients[i].Between = _ =>
            {
                clients[next - 1].Between = null;
                if (next < clients.Count) clients[next].Run($"HGETALL h{next}");
            };
        }

        clients[0].Run("HGETALL h0");
        Assert.True(clients[^1].Turns > clients[^1].Steps + 5,
            $"{clients[^1].Turns} turns, {clients[^1].Steps} steps");
        Assert.True(clients[^1].Steps > 5, $"it was done in {clients[^1].Steps} steps of its own");
        clients.ForEach(client => client.Dispose());
    }

    [Fact]
    public void What_waits_is_charged_and_given_back()
    {
        long before = _server.Server.Store.UsedBytes;
        Meet($"HSET h f77 {new string('x', 60_000)} f77 w");
        Assert.InRange(_server.Server.Store.UsedBytes - before, -16_000_000, 50_000);
    }

    [Fact]
    public void Where_there_is_no_memory_to_wait_a_command_is_refused_for_that()
    {
        var budget = _server.Server.Store.Budget;
        string? reply = null;
        _long.Between = _ =>
        {
            _long.Between = null;
            budget.Refuse = () => true;
            reply = _other.Run("HLEN h");
            budget.Refuse = null;
        };
        _long.Run("HGETALL h");
        Assert.StartsWith("-OOM ", reply, StringComparison.Ordinal);
        Assert.Equal(":60000\r\n", _other.Run("HLEN h"));
    }

    [Fact]
    public void In_the_store_who_has_changed_something_does_not_come_again()
    {
        using var session = _server.Server.Store.CreateSession();
        int met = 0, done = 0;
        _long.Between = _ =>
        {
            _long.Between = null;
            session.BeginTurn();
            session.Select(0);
            session.MayComeAgain = true;
            Assert.Throws<KeyInUseException>(() => session.Exists(session.Key("h"u8)));
            met++;
            session.Set(session.Key("a"u8), "v"u8);
            Assert.True(session.Exists(session.Key("h"u8)));
            done++;
            session.MayComeAgain = false;
            session.GoOffline();
        };
        _long.Run("HGETALL h");
        Assert.Equal((1, 1), (met, done));
    }

    public void Dispose()
    {
        _long.Dispose();
        _other.Dispose();
        _server.Dispose();
    }

    /// <param name="lines">A command, or lines that end with a line break each.</param>
    private string RunOther(string lines) =>
        Reply.Latin(_other.Run(lines.EndsWith('\n') ? System.Text.Encoding.Latin1.GetBytes(lines)
            : RespText.Encode(lines)));

    /// <summary>How often a command was begun and given up in some work of this thread.</summary>
    private static int CountGivenUp(Action work)
    {
        int givenUp = 0, thread = Environment.CurrentManagedThreadId;
        void Count(object? sender, FirstChanceExceptionEventArgs raised)
        {
            if (raised.Exception is KeyInUseException && Environment.CurrentManagedThreadId == thread) givenUp++;
        }

        AppDomain.CurrentDomain.FirstChanceException += Count;
        try
        {
            work();
        }
        finally
        {
            AppDomain.CurrentDomain.FirstChanceException -= Count;
        }

        return givenUp;
    }

    /// <summary>Runs commands of the other client in the middle of a HGETALL.</summary>
    private string Meet(string lines)
    {
        string? reply = null;
        _long.Between = _ =>
        {
            _long.Between = null;
            reply = RunOther(lines);
        };
        Assert.Equal(Fields * 2 + 1, _long.Run("HGETALL h").Split('$').Length);
        Assert.NotNull(reply);
        return reply;
    }
}
