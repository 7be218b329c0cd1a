using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>The server's end waits neither for clients that do not read nor for commands that do not end.</summary>
public sealed class StopTests
{
    // Ten minutes, which nothing here is to take.
    private static readonly string[] Patient = ["--shutdown-timeout", "600"];

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_client_that_does_not_read_is_not_waited_for(string transport)
    {
        using var kv = KvInstance.Start([.. Patient, "--transport", transport]);
        using var silent = kv.Connect();
        Ask(kv, silent, 100);
        await kv.Server.StopAsync().WaitAsync(TimeSpan.FromMinutes(2));
        Assert.True(kv.Server.EndedInOrder);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_client_that_reads_gets_all_it_asked_for(string transport)
    {
        using var kv = KvInstance.Start([.. Patient, "--transport", transport]);
        using var client = kv.Connect();
        Ask(kv, client, 100);
        var stopping = kv.Server.StopAsync();
        client.Skip(100L * (1_000_000 + "$1000000\r\n\r\n".Length));
        Assert.True(client.IsClosedByServer());
        await stopping.WaitAsync(TimeSpan.FromMinutes(2));
        Assert.True(kv.Server.EndedInOrder);
    }

    // Of 100 MB the sockets have no more than some.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task Nobody_is_waited_for_longer_than_shutdown_timeout(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--shutdown-timeout", "0");
        using var client = kv.Connect();
        Ask(kv, client, 100);
        var stopping = kv.Server.StopAsync();
        long left = 100L * (1_000_000 + "$1000000\r\n\r\n".Length);
        Assert.Throws<EndOfStreamException>(() =>
        {
            // So slowly that the end comes first. Ends: with the stop.
            for (; !stopping.IsCompleted; left -= 1000, Thread.Sleep(1)) client.Skip(1000);
            client.Skip(left);
        });
        await stopping.WaitAsync(TimeSpan.FromMinutes(2));
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public async Task A_command_that_does_not_end_is_left_behind(string transport)
    {
        using var begun = new ManualResetEventSlim();
        using var end = new ManualResetEventSlim();
        var table = new CommandTable([.. AllCommands.Table.All,
            new("STUCK", arity: 1, (ref CommandContext context) =>
            {
                begun.Set();
                end.Wait();
                context.Reply.WriteOk();
            }) { Summary = "Waits.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server }]);
        var options = KvInstance.OptionsOf(
            ["--port", "0", "--bind", "127.0.0.1", "--transport", transport, "--worker-threads", "1",
                "--shutdown-timeout", "0"]);
        var server = await KvServer.StartAsync(options, log: null, TimeProvider.System, table, default);
        using var client = new RespClient(server.Endpoints[0]);
        client.Send("STUCK");
        begun.Wait();
        await server.StopAsync().WaitAsync(TimeSpan.FromMinutes(2));
        Assert.False(server.EndedInOrder);
        await server.DisposeAsync();
        end.Set();
        // What it uses is still there.
        Eventually.Holds(() => server.Connections.Count == 0, () => "the connection is not closed");
    }

    // Of what it has begun nothing more may ever come.
    [Theory]
    [InlineData("epoll", "*2\r\n$3\r\nGET\r\n$1000\r\nabc")]
    [InlineData("pipelines", "*2\r\n$3\r\nGET\r\n$1000\r\nabc")]
    [InlineData("pipelines", "*2\r\n$4\r\nECHO\r\n$100000\r\nabc")]
    [InlineData("pipelines", "PIN")]
    public async Task A_client_in_the_middle_of_a_command_is_not_waited_for(string transport, string begun)
    {
        using var kv = KvInstance.Start([.. Patient, "--transport", transport]);
        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Send(System.Text.Encoding.ASCII.GetBytes("*1\r\n$4\r\nPING\r\n" + begun));
        Assert.Equal("PONG", client.Read().String);
        await kv.Server.StopAsync().WaitAsync(TimeSpan.FromMinutes(2));
        Assert.True(kv.Server.EndedInOrder);
        Assert.True(client.IsClosedByServer());
    }

    private static void Ask(KvInstance kv, RespClient client, int count)
    {
        using var other = kv.Connect();
        other.Command("SET"u8.ToArray(), "k"u8.ToArray(), new byte[1_000_000]);
        for (int i = 0; i < count; i++) client.Send("GET k");
        Eventually.Holds(() => kv.Server.Counters.Sum(counters => counters.Commands) > count,
            () => "the commands are not run");
    }
}
