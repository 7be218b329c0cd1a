using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Faults;

/// <summary>An exception at each point, as clients see it: one error in the reply's place, or their connection's end,
/// and nobody else notices.</summary>
/// <remarks>Alone: points are the process', and no other server's workers are to pass them.</remarks>
[Collection(Alone.Name)]
public sealed class ServerFaultTests
{
    private enum Outcome
    {
        /// <summary>One error reply, nothing changed, the connection goes on.</summary>
        Error,

        /// <summary>The client's connection closes, without a reply.</summary>
        Closed,

        /// <summary>The command succeeds: what failed is not its business.</summary>
        Done,
    }

    // What is sent before, the command that passes the point, and what the client sees.
    private static readonly Dictionary<string, (string[] Before, string Command, Outcome Outcome)> Cases = new()
    {
        ["update.decide"] = (["SET it 5"], "INCR it", Outcome.Error),
        ["record.build"] = ([], "SET it new", Outcome.Error),
        ["record.publish"] = (["SET it 5"], "APPEND it more", Outcome.Error),
        ["record.write"] = (["SET it 5", "INCR it"], "INCR it", Outcome.Error),
        ["block.fill"] = (["SET it 5"], "SETRANGE it 100000 x", Outcome.Error),
        ["expiry.slot"] = (["SET it 5"], "EXPIRE it 100", Outcome.Error),
        ["keys.lock"] = (["SET it 5", "SET other 6"], "MSET other 1 it 2", Outcome.Error),
        ["segment.open"] = ([], "SET it 5", Outcome.Error),
        ["database.create"] = ([], "SET it 5", Outcome.Error),
        ["index.split"] = ([], "FILL", Outcome.Done),
        ["flush.publish"] = (["SET it 5"], "FLUSHALL", Outcome.Error),
        ["swap.publish"] = (["SET it 5"], "SWAPDB 0 1", Outcome.Error),
        ["command.run"] = ([], "CONFIG GET maxmemory", Outcome.Error),
        ["worker.turn"] = (["SET it 5"], "SET it 6", Outcome.Closed),
        ["reply.send"] = (["SET it 5"], "GET it", Outcome.Closed),
        ["pubsub.join"] = ([], "SUBSCRIBE channel", Outcome.Error),
        ["pubsub.note"] = ([], "SUBSCRIBE channel", Outcome.Error),
        ["pubsub.leave"] = ([], "UNSUBSCRIBE channel", Outcome.Error),
        ["pubsub.publish"] = ([], "PUBLISH channel message", Outcome.Error),
        ["script.read"] = ([], "FUNCTION LOAD text", Outcome.Error),
    };

    public static IEnumerable<string> Points =>
        Cases.Keys.Concat(["worker.inbox", "pubsub.push", "message.write", "transaction.command", "monitor.line"]);

    public static TheoryData<string, string> CasesOnBoth()
    {
        var cases = new TheoryData<string, string>();
        foreach (string point in Cases.Keys)
        {
            cases.Add(point, "epoll");
            cases.Add(point, "pipelines");
        }

        return cases;
    }

    // Each command of the transaction in turn, and a fault below it, while it has records half changed.
    [Theory]
    [InlineData("transaction.command", 1)]
    [InlineData("transaction.command", 2)]
    [InlineData("transaction.command", 3)]
    [InlineData("record.write", 1)]
    [InlineData("record.write", 2)]
    public void Known_M05_an_exception_in_a_transaction_costs_one_command_of_it(string point, int at)
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        using var other = server.Connect();
        client.Ok("MSET a 1 b 1 c 1");
        client.Ok("MULTI");
        foreach (string key in new[] { "a", "b", "c" }) client.Ok($"INCR {key}");
        Reply replies;
        using (var armed = Fault.Arm(point, at))
        {
            replies = client.Ok("EXEC");
            Assert.True(armed.Fired);
        }

        Assert.Equal(3, replies.Items!.Count);
        for (int i = 0; i < 3; i++) Assert.Equal(i + 1 == at, replies.Items[i].IsError);
        // Nothing is locked, and the connection is in order.
        string[] values = [.. other.Ok("MGET a b c").Items!.Select(value => value.String)];
        for (int i = 0; i < 3; i++) Assert.Equal(i + 1 == at ? "1" : "2", values[i]);
        client.Ok("MSET a 5 b 5 c 5");
        Assert.Equal("ERR EXEC without MULTI", client.Command("EXEC").String);
        server.Server.Store.CheckIntegrity();
    }

    [Theory, MemberData(nameof(CasesOnBoth))]
    public void Known_M05_an_exception_costs_a_client_one_command_or_its_connection_and_others_nothing(
        string point, string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var client = server.Connect();
        using var other = server.Connect();
        other.Ok("PING");
        var (before, command, outcome) = Cases[point];
        foreach (string line in before) client.Ok(line);
        string state = State(other, before.Length > 0);

        using (var armed = Fault.Arm(point))
        {
            if (outcome == Outcome.Done)
            {
                client.Send([.. Enumerable.Range(0, 20_000).SelectMany(i => RespText.Encode($"SET many{i} v"))]);
                for (int i = 0; i < 20_000; i++) Assert.Equal("OK", client.Read().String);
                client.Ok("FLUSHALL");
            }
            else
            {
                client.Send([.. RespText.Encode(command), .. RespText.Encode("ECHO behind")]);
                if (outcome == Outcome.Error)
                {
                    var reply = client.Read();
                    Assert.True(reply.IsError, $"{command} answered {reply}");
                    Assert.Equal("behind", client.Read().String);
                    Assert.False(client.HasInput);
                }
                else
                {
                    Assert.True(client.IsClosedByServer());
                }
            }

            Assert.True(armed.Fired, $"{command} does not pass {point}");
        }

        Assert.Equal(state, State(other, before.Length > 0));
        CheckOthers(server, other);
    }

    // Nobody is there who could be answered: one that the worker was to adopt or to attend to.
    [Fact]
    public void Known_M05_an_exception_in_a_worker_s_inbox_costs_the_one_it_concerns()
    {
        using var server = KvInstance.Start("--transport", "epoll", "--worker-threads", "1");
        using var other = server.Connect();
        other.Ok("PING");
        using (var armed = Fault.Arm("worker.inbox"))
        {
            using var client = server.Connect();
            Assert.True(client.IsClosedByServer());
            Assert.True(armed.Fired);
        }

        CheckOthers(server, other);
    }

    // The command waits for a key that a script holds, and is begun again in the same turn: what it is again is no
    // command of the window.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Known_M05_an_exception_in_a_command_that_is_begun_again_costs_its_reply_only(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--script-time-limit", "0", "--busy-reply-threshold", "0");
        using RespClient holder = server.Connect(), client = server.Connect(), other = server.Connect();
        foreach (var ready in (RespClient[])[client, other]) ready.Ok("PING");
        holder.Send("EVAL \"while true do end\" 1 held");
        Eventually.Holds(() => server.Server.Scripts.IsRunningAny, () => "the script does not run");
        using (var armed = Fault.Arm("command.run"))
        {
            // A window of 32, and the beginning of another command.
            client.Send([.. Enumerable.Repeat("*1\r\n$4\r\nPING\r\n", 31).SelectMany(Encoding.ASCII.GetBytes),
                .. "*3\r\n$3\r\nSET\r\n$4\r\nheld\r\n$1\r\nv\r\n*1\r\n$4\r\nPI"u8]);
            for (int i = 0; i < 31; i++) Assert.Equal("+PONG", client.Read().ToString());
            Assert.StartsWith("-ERR internal error", client.Read().ToString(), StringComparison.Ordinal);
            Assert.True(armed.Fired);
        }

        client.Send("NG\r\n"u8);
        Assert.Equal("+PONG", client.Read().ToString());
        Assert.Equal("+OK", other.Command("SCRIPT KILL").ToString());
        CheckOthers(server, other);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Known_M05_a_message_that_finds_no_place_costs_its_subscriber_and_neither_publisher_nor_the_others(
        string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var publisher = server.Connect();
        using var early = server.Connect();
        using var late = server.Connect();
        foreach (var subscriber in new[] { early, late }) subscriber.Ok("SUBSCRIBE channel");
        using (var armed = Fault.Arm("pubsub.push"))
        {
            Assert.Equal(2, publisher.Ok("PUBLISH channel message").Integer);
            Assert.True(armed.Fired);
        }

        // The one that joined last is the first of the list.
        Assert.True(late.IsClosedByServer());
        Assert.Equal("message", early.Read().Items![2].String);
        Eventually.Holds(() => publisher.Ok("PUBSUB NUMSUB channel").Items![1].Integer == 1,
            () => "the lost subscriber is in the list still");
        Eventually.Holds(() => server.Server.PubSub.MessageBytes == 0,
            () => $"{server.Server.PubSub.MessageBytes} bytes of messages are left");
        early.Dispose();
        CheckOthers(server, publisher);
    }

    [Fact]
    public void Known_M05_a_line_of_MONITOR_that_finds_no_memory_is_missing_and_the_command_has_run()
    {
        using var server = KvInstance.Start();
        using var watcher = server.Connect();
        using var client = server.Connect();
        watcher.Ok("MONITOR");
        using (var armed = Fault.Arm("monitor.line"))
        {
            Assert.Equal(1, client.Ok("INCR n").Integer);
            Assert.True(armed.Fired);
        }

        Assert.Equal(2, client.Ok("INCR n").Integer);
        client.Ok("PING");
        Assert.EndsWith("\"INCR\" \"n\"", watcher.Read().ToString(), StringComparison.Ordinal);
        Assert.EndsWith("\"PING\"", watcher.Read().ToString(), StringComparison.Ordinal);
        CheckOthers(server, client);
    }

    // KV_FAULT in the environment does the same in a program.
    [Fact]
    public void Known_M05_a_point_named_in_the_environment_throws_or_kills_in_a_program()
    {
        using (var server = KvProcess.StartWith("KV_FAULT", "update.decide:2"))
        {
            using var client = server.Connect();
            Assert.Equal(1, client.Ok("INCR a").Integer);
            Assert.Equal(2, client.Ok("INCR a").Integer);       // the first INCR inserted, which decides elsewhere
            Assert.True(client.Command("INCR a").IsError);
            Assert.Equal(3, client.Ok("INCR a").Integer);
        }

        using (var server = KvProcess.StartWith("KV_FAULT", "update.decide:1:kill"))
        {
            using var client = server.Connect();
            client.Ok("INCR a");
            client.Send("INCR a");
            Assert.True(client.IsClosedByServer());
            Assert.Equal(128 + 9, server.WaitForExit());
        }
    }

    private static string State(RespClient client, bool hasKey) =>
        string.Join(' ', client.Ok("GET it"), client.Ok("TTL it"), hasKey ? client.Ok("DBSIZE").ToString() : "",
            client.Ok("PUBSUB CHANNELS"),
            client.Ok("PUBSUB NUMPAT"));

    /// <summary>Others read, write, and go through every list that the failing command may have held.</summary>
    private static void CheckOthers(KvInstance server, RespClient other)
    {
        other.Ok("SET it 7");
        Assert.Equal(8, other.Ok("INCR it").Integer);
        other.Ok("MSET it 1 other 2 third 3");
        Assert.Equal(3, other.Ok("DEL it other third").Integer);
        Assert.Equal(0, other.Ok("PUBLISH channel2 message").Integer);
        using (var late = server.Connect())
        {
            late.Ok("SUBSCRIBE channel2");
            Assert.Equal(1, other.Ok("PUBLISH channel2 message").Integer);
            Assert.Equal("message", late.Read().Items![0].String);
        }

        other.Ok("SWAPDB 0 1");
        other.Ok("FLUSHALL");
        Eventually.Holds(() => server.Server.PubSub.ChannelCount == 0
            && server.Server.PubSub.SubscriberCount == 0, () => "a subscription is left");
        server.Server.Store.CheckIntegrity();
        Eventually.Holds(() => server.Server.Store.Stats is { LogBytes: 0, BlockBytes: 0, IndexBytes: 0 },
            () => $"{server.Server.Store.Stats} is left");
    }
}
