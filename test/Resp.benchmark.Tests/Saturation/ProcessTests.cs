using System.Net;
using System.Net.Sockets;
using RespBenchmark.Network;
using RespBenchmark.Saturation;

namespace RespBenchmark.Tests.Saturation;

public class ProcessTests
{
    [Fact]
    public void The_process_that_listens_is_found_and_a_false_claim_is_not_believed()
    {
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        var target = new Target { Port = ((IPEndPoint)listener.LocalEndPoint!).Port };
        Assert.Equal(Environment.ProcessId, ServerProcess.Find(target, null));
        Assert.Equal(Environment.ProcessId, ServerProcess.Find(target, Environment.ProcessId));
        Assert.Equal(Environment.ProcessId, ServerProcess.Find(target, 1));
    }

    [Fact]
    public void Where_nothing_listens_nothing_is_found()
    {
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));       // bound, not listening
        Assert.Null(ServerProcess.Find(new Target { Port = ((IPEndPoint)listener.LocalEndPoint!).Port },
            Environment.ProcessId));
    }

    [Fact]
    public void Cpu_that_this_process_burns_is_seen()
    {
        ProcessSample before = ProcessSample.Of(Environment.ProcessId)!;
        long spun = 0;
        // Ends: the clock of this thread's CPU goes on while it spins.
        while (ProcessSample.Of(Environment.ProcessId)!.Cpu - before.Cpu < 20_000_000) spun++;
        Assert.True(before.Rss > 1 << 20);
        Assert.True(spun >= 0);
        Assert.Null(ProcessSample.Of(int.MaxValue));
    }

    [Fact]
    public void A_monitor_of_any_length_has_a_figure()
    {
        using ResourceMonitor monitor = ResourceMonitor.Start(Environment.ProcessId);
        ResourceUse use = monitor.Stop();
        Assert.True(use.ServerSeen);
        Assert.Single(use.Series);
        Assert.True(use.ClientRss > 1 << 20);
    }
}
