using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>Clients over TLS that leave in the middle of a long command.</summary>
public sealed class LeavingTests
{
    private volatile bool _isDone;
    private volatile int _steps, _ended;

    [Theory, InlineData(true), InlineData(false)]
    public void A_long_command_that_reads_ends_with_its_client_and_one_that_stays_is_served(bool leaves)
    {
        var table = new CommandTable([.. AllCommands.Table.All,
            new Command("READS", 1, (ref CommandContext context) => context.Continue(new Work(this)))
            {
                Summary = "For tests.", Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
                Flags = CommandFlags.ReadOnly,
            }]);
        using var server = new TlsServer(table);
        using (var client = server.Connect())
        {
            client.Send("READS");
            Eventually.Holds(() => _steps > 0, () => "it has not begun");
            if (!leaves)
            {
                // What is sent behind it is not lost, though its first byte has been looked at.
                client.Send("PING");
                int steps = _steps;
                Eventually.Holds(() => _steps > steps + 1000, () => "it does not go on");
                Assert.Equal(0, _ended);
                _isDone = true;
                Assert.Equal("+OK", client.Read().ToString());
                Assert.Equal("+PONG", client.Read().ToString());
            }
        }

        if (leaves) Eventually.Holds(() => _ended == 1, () => "it still works for nobody");
        server.AwaitInfo("kv_tls_clients", "0");
    }

    private sealed class Work(LeavingTests test) : ICommandSteps, IDisposable
    {
        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            Interlocked.Increment(ref test._steps);
            if (!test._isDone) return false;
            context.Reply.WriteOk();
            return true;
        }

        public void Dispose() => Interlocked.Increment(ref test._ended);
    }
}
