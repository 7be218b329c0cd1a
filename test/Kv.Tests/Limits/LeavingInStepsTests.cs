using System.Net.Sockets;
using Kv.Server;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>Clients that leave in the middle of a long command: nobody reads on for them, and what they write is
/// done.</summary>
public sealed class LeavingInStepsTests
{
    private readonly Works _works = new();

    public static TheoryData<string, bool> Ways()
    {
        var data = new TheoryData<string, bool>();
        foreach (string transport in (string[])["epoll", "pipelines"])
            foreach (bool resets in (bool[])[false, true]) data.Add(transport, resets);
        return data;
    }

    // Redis 7.0.15 answers what its socket takes at once, meets the end of input, and frees the client.
    [Theory, MemberData(nameof(Ways))]
    public async Task A_long_command_that_reads_ends_with_its_client(string transport, bool resets)
    {
        if (transport == "epoll" && !OperatingSystem.IsLinux()) return;
        await using var server = await StartAsync(transport);
        using var other = new RespClient(server.Endpoints[0]);
        for (int round = 1; round <= 3; round++)
        {
            Leave(server, resets, "READS");
            Eventually.Holds(() => _works.Ended == round, () => "it still works for nobody");
        }

        Eventually.Holds(() => other.Info("connected_clients") == "1",
            () => other.Info("connected_clients") + " clients");
    }

    [Theory]
    [InlineData("epoll", "WRITES", "")]
    [InlineData("pipelines", "WRITES", "")]
    [InlineData("epoll", "READS", "RPUSH list v")]
    [InlineData("pipelines", "READS", "RPUSH list v")]
    public async Task What_a_client_that_has_left_wanted_to_write_is_done(
        string transport, string command, string behind)
    {
        if (transport == "epoll" && !OperatingSystem.IsLinux()) return;
        await using var server = await StartAsync(transport);
        using var other = new RespClient(server.Endpoints[0]);
        Leave(server, resets: false, command, behind);
        // It goes on: many steps after the client's end has been there to be seen.
        int steps = _works.Steps;
        Eventually.Holds(() => _works.Steps > steps + 1000, () => "it does not go on");
        Assert.Equal(0, _works.Ended);
        _works.IsDone = true;
        Eventually.Holds(() => other.Info("connected_clients") == "1",
            () => other.Info("connected_clients") + " clients");
        Assert.Equal((1, behind.Length > 0 ? 1 : 0), (_works.Done, other.Command("LLEN list").Integer));
    }

    private void Leave(KvServer server, bool resets, string command, string behind = "")
    {
        int steps = _works.Steps;
        using var client = new RespClient(server.Endpoints[0]);
        client.Send([.. RespText.Encode(command), .. behind.Length > 0 ? RespText.Encode(behind) : []]);
        Eventually.Holds(() => _works.Steps > steps, () => "it has not begun");
        if (resets) client.Socket.LingerState = new LingerOption(enable: true, seconds: 0);
    }

    private Task<KvServer> StartAsync(string transport) => KvServer.StartAsync(
        KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--transport", transport, "--worker-threads", "1"]),
        null, TimeProvider.System, new CommandTable([.. AllCommands.Table.All,
            Row("READS", CommandFlags.ReadOnly), Row("WRITES", CommandFlags.Write)]), default);

    private Command Row(string name, CommandFlags flags) => new(name, 1, Begin)
    {
        Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server, Flags = flags,
    };

    private void Begin(ref CommandContext context) => context.Continue(new Work(_works));

    /// <summary>What all long commands of a test have come to.</summary>
    private sealed class Works
    {
        private volatile int _steps;
        private int _done, _ended;

        public volatile bool IsDone;

        public int Steps => _steps;
        public int Done => Volatile.Read(ref _done);
        public int Ended => Volatile.Read(ref _ended);

        public bool Step()
        {
            Interlocked.Increment(ref _steps);
            if (!IsDone) return false;
            Interlocked.Increment(ref _done);
            return true;
        }

        public void End() => Interlocked.Increment(ref _ended);
    }

    private sealed class Work(Works works) : ICommandSteps, IDisposable
    {
        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            if (!works.Step()) return false;
            context.Reply.WriteOk();
            return true;
        }

        public void Dispose() => works.End();
    }
}
