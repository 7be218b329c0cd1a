using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Epochs;

/// <summary>M04: a session that stands still while memory waits to be freed is told by name.</summary>
public sealed class StallTests
{
    [Fact]
    public void A_session_that_stands_still_is_told_after_100_ms_and_at_most_once_a_second()
    {
        var stalls = new List<StoreStall>();
        using var test = new TestStore(new StoreOptions { Stalled = stalls.Add });
        using var still = test.Store.CreateSession();
        still.BeginTurn();
        RetireBlock(test);
        test.Store.Maintain();
        test.Clock.Advance(99);
        test.Store.Maintain();
        Assert.Empty(stalls);
        test.Clock.Advance(1);
        test.Store.Maintain();
        var stall = Assert.Single(stalls);
        Assert.Equal((100, 1), (stall.Milliseconds, stall.PendingFrees));
        Assert.InRange(stall.PendingBytes, 70_000, 1 << 20);
        Assert.Contains("thread ", stall.Holder, StringComparison.Ordinal);
        for (int i = 0; i < 20; i++)
        {
            test.Clock.Advance(100);
            test.Store.Maintain();
        }

        Assert.Equal([100L, 1100, 2100], stalls.Select(told => told.Milliseconds));
        Assert.Equal(1, test.Store.Stats.Stalls);

        still.BeginTurn();
        test.Store.Maintain();
        test.Clock.Advance(5000);
        test.Store.Maintain();
        Assert.Equal((3, 1, 0), (stalls.Count, test.Store.Stats.Stalls, test.Store.Stats.PendingFrees));
    }

    [Fact]
    public void Who_goes_on_from_turn_to_turn_or_holds_nothing_back_is_not_told()
    {
        var stalls = new List<StoreStall>();
        using var test = new TestStore(new StoreOptions { Stalled = stalls.Add });
        using var busy = test.Store.CreateSession();
        busy.BeginTurn();
        for (int i = 0; i < 10; i++)
        {
            RetireBlock(test);
            test.Store.Maintain();
            test.Clock.Advance(99);
            busy.BeginTurn();
        }

        test.Settle();
        busy.BeginTurn();
        // Nothing waits to be freed: it may stand still for as long as it likes.
        for (int i = 0; i < 10; i++)
        {
            test.Clock.Advance(1000);
            test.Store.Maintain();
        }

        busy.GoOffline();
        Assert.Empty(stalls);
        Assert.Equal(0, test.Store.Stats.Stalls);
    }

    [Fact]
    public async Task Known_M04_a_guard_that_is_held_is_logged_with_its_threads_name_and_counted()
    {
        var log = new CapturedLog();
        await using var kv = await KvServer.StartAsync(
            KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1"]), log);
        using var client = new RespClient(kv.Endpoints[0]);
        client.Ok("SET k v");
        using var held = new ManualResetEventSlim();
        using var goOn = new ManualResetEventSlim();
        var thread = new Thread(() =>
        {
            using var guard = kv.Store.Enter();
            held.Set();
            goOn.Wait();
        })
        {
            Name = "stands-still",
        };
        thread.Start();
        try
        {
            held.Wait();
            client.Ok("FLUSHALL");
            Eventually.Holds(() =>
                log.Lines.Any(line => line.StartsWith("Warning Freeing has waited ", StringComparison.Ordinal)
                && line.Contains(" for thread stands-still: ", StringComparison.Ordinal)), () =>
                    string.Join('\n', log.Lines));
            Assert.NotEqual("0", client.Info("kv_stalls"));
        }
        finally
        {
            goOn.Set();
            thread.Join();
        }

        Eventually.Holds(() => kv.Store.Stats.PendingFrees == 0, () => "what was flushed is not freed");
        client.Ok("CONFIG RESETSTAT");
        Assert.Equal("0", client.Info("kv_stalls"));
    }

    [Theory, InlineData("STANDS", "stands"), InlineData("STANDS WORD", "stands|word")]
    public async Task A_command_that_stands_still_is_logged_with_its_name_and_its_client(string line, string name)
    {
        var log = new CapturedLog();
        using var held = new ManualResetEventSlim();
        using var goOn = new ManualResetEventSlim();
        CommandHandler handler = (ref CommandContext context) =>
        {
            held.Set();
            goOn.Wait();
            context.Reply.WriteOk();
        };
        var table = new CommandTable(
            [.. AllCommands.Table.All, Row("STANDS", -1, handler, Row("WORD", 2, handler))]);
        await using var kv = await KvServer.StartAsync(
            KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--worker-threads", "2"]), log,
            TimeProvider.System, table, default);
        using var client = new RespClient(kv.Endpoints[0]);
        using var other = new RespClient(kv.Endpoints[0]);
        long id = client.Command("CLIENT ID").Integer;
        other.Ok("SET k v");
        client.Send(line);
        try
        {
            held.Wait();
            other.Ok("FLUSHALL");
            Eventually.Holds(() =>
                log.Lines.Any(each => each.StartsWith("Warning Freeing has waited ", StringComparison.Ordinal)
                && each.Contains($", {name} of client {id}: ", StringComparison.Ordinal)), () =>
                    string.Join('\n', log.Lines));
        }
        finally
        {
            goOn.Set();
        }

        Assert.Equal("OK", client.Read().String);
    }

    private static Command Row(string name, int arity, CommandHandler handler, params Command[] subcommands) =>
        new(name, arity, handler)
    {
        Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Subcommands = subcommands,
    };

    /// <summary>A value that is replaced by another: its block waits for an epoch to pass.</summary>
    private static void RetireBlock(TestStore test)
    {
        test.Begin();
        Assert.Equal(StoreStatus.Ok, test.TrySet("key", new byte[70_000]));
        test.Begin();
        Assert.Equal(StoreStatus.Ok, test.TrySet("key", new byte[80_000]));
        test.Session.GoOffline();
    }
}
