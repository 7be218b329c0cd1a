using System.Net;
using System.Net.Sockets;
using Kv.Server.Network;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>The receiving side of a portable connection's stream.</summary>
public sealed class StreamInputTests
{
    // The system tells of bytes that have been received meanwhile: an empty read ends, and nothing is there.
    [Fact]
    public async Task Nobody_is_taken_for_gone_who_is_there()
    {
        const int Rounds = 30_000;
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        using var client = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        client.NoDelay = true;
        await client.ConnectAsync(listener.LocalEndPoint!, TestContext.Current.CancellationToken);
        using var socket = await listener.AcceptAsync(TestContext.Current.CancellationToken);
        await using var stream = new NetworkStream(socket, ownsSocket: false);
        var signal = new LoopSignal();
        var input = new StreamInput(stream, socket, signal);

        var sending = Task.Run(() =>
        {
            byte[] one = [1];
            for (int i = 0; i < Rounds; i++) client.Send(one);
        }, TestContext.Current.CancellationToken);
        byte[] room = new byte[16];
        for (int received = 0; received < Rounds;)
        {
            signal.Clear();
            Assert.False(input.IsAtEnd());
            if (input.CanReceive()) received += input.Receive(room);
            else await signal.WaitAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(60 * TimeBudget.Scale),
                TestContext.Current.CancellationToken);
        }

        await sending;
        client.Shutdown(SocketShutdown.Send);
        Eventually.Holds(input.IsAtEnd, () => "the end is not noticed");
        Assert.Equal(0, input.Receive(room));
        Assert.True(input.HasEnded);
    }
}
