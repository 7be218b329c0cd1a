using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Notifications;

/// <summary>Sessions of the store that work in steps borrows, one after another.</summary>
public sealed class LentSessionTests
{
    [Fact]
    public void Who_is_done_late_leaves_the_next_ones_listener_alone()
    {
        using var kv = KvInstance.Start();
        var server = kv.Server;
        using var session = server.Store.CreateSession();
        var counters = server.Counters.Create();
        using var output = new SessionOutput(server.Store);

        session.BeginWork(new Work(null));
        var runner = new CommandRunner(server, session, counters, output);
        Assert.Same(runner.Events, session.Listener);
        session.EndWork();
        Assert.Null(session.Listener);
        Assert.Null(session.User);

        var next = new Work(new Listener());
        session.BeginWork(next);
        runner.Dispose();       // its reply has gone out
        Assert.Same(next.Listener, session.Listener);
        session.EndWork();
    }

    private sealed class Work(IKeyListener? listener) : ISessionUser
    {
        public string WorkName => "a test";

        public IKeyListener? Listener => listener;

        public IKeyListener? ListenOn(StoreSession session) => listener;
    }

    private sealed class Listener : IKeyListener
    {
        public void Hear(KeyNote note, int database, ReadOnlySpan<byte> key)
        {
        }

        public void Settle()
        {
        }
    }
}
