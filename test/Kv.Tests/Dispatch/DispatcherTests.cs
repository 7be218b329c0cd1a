using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;

namespace Kv.Tests.Dispatch;

/// <summary>One reply for each command, whatever a handler does; long and waiting commands.</summary>
public sealed class DispatcherTests
{
    private static readonly CommandTable WithBadOnes = new([.. AllCommands.Table.All,
        Row("THROWS", (ref CommandContext context) =>
        {
            context.Reply.WriteArray(3);
            context.Reply.WriteInteger(1);
            throw new InvalidOperationException("on purpose");
        }),
        Row("STEPS", (ref CommandContext context) => context.Continue(new Counting(1_000))),
        Row("WAITS", (ref CommandContext context) => context.Park(20, new Counting(1))),
        Row("POURS", (ref CommandContext context) => context.Continue(new Pouring())),
        Row("BREAKS", (ref CommandContext context) => context.Continue(new Failing())),
        Row("HUGE", (ref CommandContext context) =>
        {
            for (int i = 0; i < 3_000; i++) context.Reply.BeginBulk(1 << 20);
        }),
    ]);

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_handler_that_throws_is_one_error_and_its_neighbours_notice_nothing(string transport)
    {
        await using var server = await Start(transport);
        using var client = new RespClient(server.Endpoints[0]);
        client.Send([.. RespText.Encode("SET a 1"), .. RespText.Encode("THROWS"), .. RespText.Encode("GET a")]);
        Assert.Equal("OK", client.Read().String);
        Assert.Equal("ERR internal error, see the server's log", client.Read().String);
        Assert.Equal("1", client.Read().String);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_long_command_answers_when_it_is_done_and_others_go_on_meanwhile(string transport)
    {
        await using var server = await Start(transport);
        using var client = new RespClient(server.Endpoints[0]);
        using var other = new RespClient(server.Endpoints[0]);
        client.Send([.. RespText.Encode("PING"), .. RespText.Encode("STEPS"), .. RespText.Encode("PING"),
            .. RespText.Encode("STEPS"), .. RespText.Encode("PING")]);
        for (int i = 0; i < 20; i++) Assert.Equal("PONG", other.Command("PING").String);
        Assert.Equal("PONG", client.Read().String);
        Assert.Equal(1_000, client.Read().Integer);
        Assert.Equal("PONG", client.Read().String);
        Assert.Equal(1_000, client.Read().Integer);
        Assert.Equal("PONG", client.Read().String);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_waiting_command_holds_up_its_own_client_only(string transport)
    {
        await using var server = await Start(transport);
        using var client = new RespClient(server.Endpoints[0]);
        using var other = new RespClient(server.Endpoints[0]);
        client.Send([.. RespText.Encode("WAITS"), .. RespText.Encode("PING"), .. RespText.Encode("WAITS"),
            .. RespText.Encode("PING")]);
        Assert.Equal("PONG", other.Command("PING").String);
        Assert.Equal(1, client.Read().Integer);
        Assert.Equal("PONG", client.Read().String);
        Assert.Equal(1, client.Read().Integer);
        Assert.Equal("PONG", client.Read().String);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_step_that_throws_is_one_error(string transport)
    {
        await using var server = await Start(transport);
        using var client = new RespClient(server.Endpoints[0]);
        client.Send([.. RespText.Encode("BREAKS"), .. RespText.Encode("PING")]);
        Assert.Equal("ERR internal error, see the server's log", client.Read().String);
        Assert.Equal("PONG", client.Read().String);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_long_reply_waits_for_a_client_that_does_not_read(string transport)
    {
        await using var server = await Start(transport, "--client-output-pause", "1mb");
        using var client = new RespClient(server.Endpoints[0]);
        client.Ok("PING");
        client.Send("POURS");
        var session = Assert.Single(server.Connections.Snapshot());
        Eventually.Holds(() => session.OutputPaused && session.OutputBytes > 0,
            () => $"{session.OutputBytes} bytes wait, but the client is not paused");
        Assert.InRange(session.OutputBytes, 0, 3 << 20);
        var reply = client.Read();
        Assert.Equal(Pouring.Pieces, reply.Items!.Count);
        Assert.Equal("PONG", client.Command("PING").String);
    }

    [Fact]
    public async Task A_reply_larger_than_the_limit_is_one_error()
    {
        await using var server = await Start("pipelines");
        using var client = new RespClient(server.Endpoints[0]);
        client.Send([.. RespText.Encode("HUGE"), .. RespText.Encode("PING")]);
        Assert.Equal("ERR reply is larger than max-reply-bytes", client.Read().String);
        Assert.Equal("PONG", client.Read().String);
    }

    [Fact]
    public void Every_command_is_found_by_its_name_in_any_case_and_by_no_other()
    {
        var table = AllCommands.Table;
        foreach (var command in table.All)
        {
            Assert.Same(command, table.Find(command.Name));
            Assert.Same(command, table.Find(command.Name.ToLowerInvariant()));
            Assert.Null(table.Find(command.Name + "Y"));
            Assert.Null(table.Find(command.Name + "\0"));
            Assert.Null(table.Find(command.Name[1..] + (char)(command.Name[0] | 0x80)));
        }

        Assert.Null(table.Find(""));
    }

    private static Task<KvServer> Start(string transport, params string[] more) => KvServer.StartAsync(
        KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", transport, "--worker-threads", "1",
            "--max-reply-bytes", "100mb", .. more]),
        null, TimeProvider.System, WithBadOnes, default);

    private static Command Row(string name, CommandHandler handler) => new(name, 1, handler)
    {
        Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
    };

    private sealed class Counting(int steps) : ICommandSteps
    {
        private int _done;

        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            if (++_done < steps) return false;
            context.Reply.WriteInteger(_done);
            return true;
        }
    }

    /// <summary>100 MB, a megabyte a step.</summary>
    private sealed class Pouring : ICommandSteps
    {
        public const int Pieces = 100;
        private int _done;

        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            if (_done == 0) context.Reply.WriteArray(Pieces);
            context.Reply.BeginBulk(1 << 20).Fill((byte)'x');
            return ++_done == Pieces;
        }
    }

    private sealed class Failing : ICommandSteps
    {
        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            context.Reply.WriteArray(2);
            throw new InvalidOperationException("on purpose");
        }
    }
}
