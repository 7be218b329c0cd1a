using System.Diagnostics;
using System.Net.Sockets;
using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;

namespace Kv.Tests.Dispatch;

/// <summary>How much of a pipeline is run before others of the worker have their turns.</summary>
public sealed class TurnShareTests
{
    private const int Commands = 2_000, PieceBytes = 100_000;

    private readonly ManualResetEventSlim _hasBegun = new(), _otherIsSent = new();
    private volatile int _done, _doneBeforeOther = -1;

    public static TheoryData<string, string, string> Cases
    {
        get
        {
            var cases = new TheoryData<string, string, string>();
            foreach (var transport in Network.Transports.Both)
            {
                foreach (string name in (string[])["SPINS", "POURS"])
                {
                    cases.Add(transport.Data, name, "0");
                    // with maxmemory every command is looked at before it is run
                    cases.Add(transport.Data, name, "4gb");
                }
            }

            return cases;
        }
    }

    [Theory, MemberData(nameof(Cases))]
    public async Task Others_have_a_turn_long_before_a_slow_or_wordy_pipeline_is_done(string transport, string name,
        string maxMemory)
    {
        await using var server = await Start(transport, "--maxmemory", maxMemory);
        using var client = new RespClient(server.Endpoints[0]);
        using var other = new RespClient(server.Endpoints[0]);
        client.Ok("PING");
        other.Ok("PING");
        client.Send([.. Enumerable.Repeat(RespText.Encode(name), Commands).SelectMany(bytes => bytes)]);
        Assert.True(_hasBegun.Wait(60_000));
        other.Send("OTHER");
        _otherIsSent.Set();     // it is in the server's socket before the first of the pipeline returns
        Assert.Equal("OK", other.Read().String);
        // On epoll the very next turn has it; of the pool, whichever thread hears of it.
        Assert.InRange(_doneBeforeOther, 1, transport == "epoll" ? 40 : Commands - 1);
        for (int i = 0; i < Commands; i++) Assert.NotEqual('-', client.Read().Type);
        Assert.Equal(Commands, _done);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task What_is_left_for_later_turns_is_done_in_order_with_big_arguments_and_an_end_of_input_behind_it(
        string transport)
    {
        await using var server = await Start(transport);
        using var client = new RespClient(server.Endpoints[0]);
        _otherIsSent.Set();
        byte[] value = new byte[200_000];
        Seed.NewRandom().NextBytes(value);
        for (int round = 0; round < 3; round++)
        {
            var wire = new List<byte>();
            for (int i = 0; i < 50; i++)
            {
                wire.AddRange(RespText.Encode("SPINS"));
                wire.AddRange(RespText.Encode($"RPUSH order {(round * 50) + i}"));
            }

            wire.AddRange(RespText.Encode(["SET"u8.ToArray(), "k"u8.ToArray(), value]));
            wire.AddRange(RespText.Encode("SPINS"));
            wire.AddRange(RespText.Encode("GET k"));
            if (round == 2) wire.AddRange(Enumerable.Repeat(RespText.Encode("SPINS"), 100).SelectMany(bytes => bytes));
            client.Send([.. wire]);
            if (round == 2) client.Socket.Shutdown(SocketShutdown.Send);
            for (int i = 0; i < 50; i++)
            {
                Assert.Equal("OK", client.Read().String);
                Assert.Equal((round * 50) + i + 1, client.Read().Integer);
            }

            Assert.Equal("OK", client.Read().String);
            Assert.Equal("OK", client.Read().String);
            Assert.True(value.AsSpan().SequenceEqual(client.Read().Text), Seed.Hint);
        }

        for (int i = 0; i < 100; i++) Assert.Equal("OK", client.Read().String);
        Assert.True(client.IsClosedByServer());
        using var last = new RespClient(server.Endpoints[0]);
        Assert.Equal(Enumerable.Range(0, 150).Select(i => $"{i}"),
            last.Command("LRANGE order 0 -1").Items!.Select(item => item.String));
    }

    private Task<KvServer> Start(string transport, params string[] more) => KvServer.StartAsync(
        KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", transport, "--worker-threads", "1",
            "--client-output-pause", "1gb", .. more]),
        null, TimeProvider.System, new CommandTable(
            [.. AllCommands.Table.All, Row("SPINS", Spins), Row("POURS", Pours), Row("OTHER", Other)]), default);

    private static Command Row(string name, CommandHandler handler) => new(name, 1, handler)
    {
        Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
    };

    private void Spins(ref CommandContext context)
    {
        Begin();
        Spin(milliseconds: 1.2);
        context.Reply.WriteOk();
    }

    private void Pours(ref CommandContext context)
    {
        Begin();
        Spin(milliseconds: 0.02);
        context.Reply.BeginBulk(PieceBytes).Fill((byte)'x');
    }

    private void Other(ref CommandContext context)
    {
        _doneBeforeOther = _done;
        context.Reply.WriteOk();
    }

    private void Begin()
    {
        _hasBegun.Set();
        Assert.True(_otherIsSent.Wait(60_000));
        _done++;
    }

    private void Spin(double milliseconds)
    {
        if (_doneBeforeOther >= 0) return;      // its purpose is served
        long begin = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(begin).TotalMilliseconds < milliseconds)
        {
            // Ends: with the time.
        }
    }
}
