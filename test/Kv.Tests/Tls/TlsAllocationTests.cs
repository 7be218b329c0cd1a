using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>Requests over TLS allocate nothing, from the socket and back.</summary>
public sealed class TlsAllocationTests
{
    // The client is another process: TLS in this one would be counted, too. What a run allocates beside its requests,
    // for its connections, is the same in a short run and a long one. SslStream and PipeWriter allocate some 50 bytes a
    // request; a buffer, a task or a connection's object of ours for each request would be seen.
    [Fact]
    public void GET_at_depth_1_allocates_next_to_nothing_in_the_long_run()
    {
        if (OwnProcess.Ran()) return;
        const int Few = 10_000, Many = 60_000, BytesMax = 64;
        string benchmark = Requires.Tool("redis-benchmark");
        using var server = new TlsServer("--tls-auth-clients", "no", "--worker-threads", "1");
        Run(Many);
        double least = double.MaxValue;
        for (int attempt = 0; attempt < 5 && least > BytesMax; attempt++)
            least = Math.Min(least, (Run(Many) - Run(Few)) / (double)(Many - Few));
        Assert.True(least <= BytesMax, $"{least} bytes a request");

        long Run(int requests)
        {
            long before = GC.GetTotalAllocatedBytes(precise: true);
            var result = ChildProcess.Run(benchmark,
            [
                "-h", "localhost", "-p", $"{server.EndPoint.Port}", "--tls", "--cacert", server.Files["ca.crt"],
                "-n", $"{requests}", "-c", "10", "-t", "get", "-q",
            ], timeoutMs: 120_000);
            Assert.Equal(0, result.ExitCode);
            return GC.GetTotalAllocatedBytes(precise: true) - before;
        }
    }
}
