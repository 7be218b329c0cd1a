using System.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>A session's share of a turn: what it gets before others of its worker come.</summary>
public sealed class TurnShareTests
{
    private const int Values = 48, ValueBytes = 60_000;

    // GETs of 60 KB, each of which is quick: only a megabyte of them ended the share, whatever it took to send that.
    [Fact]
    public void Sending_counts_too()
    {
        using var instance = KvInstance.Start();
        using var client = new WindowClient(instance);
        client.Run($"SET k {new string('v', ValueBytes)}");
        byte[] wire = [.. Enumerable.Repeat(RespText.Encode("GET k"), Values).SelectMany(bytes => bytes)];
        int sent = 0;
        client.Sending = () =>
        {
            sent++;
            long begin = Stopwatch.GetTimestamp();
            // As long as a share.
            while (Stopwatch.GetElapsedTime(begin).TotalMilliseconds < 1)
            {
            }
        };
        Assert.Equal(Values * (ValueBytes + "$60000\r\n\r\n".Length), client.Run(wire).Length);
        Assert.Equal(sent, client.Turns);
    }
}
