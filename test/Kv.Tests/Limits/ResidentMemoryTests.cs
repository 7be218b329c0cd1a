using System.Globalization;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>What clients made a kv-server take goes back to the system when they have left.</summary>
public sealed class ResidentMemoryTests
{
    private const long Mb = 1 << 20;

    // 100 MB each, in words of 1,000 bytes: the arguments of one command, and the commands of a transaction. In pieces
    // of 64 KB, all of them stayed in the C library's heap.
    [Theory]
    [InlineData("epoll", true)]
    [InlineData("epoll", false)]
    [InlineData("pipelines", true)]
    [InlineData("pipelines", false)]
    public void What_a_client_has_sent_goes_back_to_the_system_when_it_leaves(string transport, bool asOne)
    {
        Requires.Linux("reads /proc");
        const int words = 100_000;
        using var kv = KvProcess.Start("--transport", transport, "--worker-threads", "2",
            "--multi-queue-limit", "1gb");
        using var watcher = kv.Connect(timeoutMs: 120_000);
        long before = kv.ResidentBytes;
        using (var client = kv.Connect(timeoutMs: 120_000))
        {
            byte[] word = [.. "$1000\r\n"u8, .. new byte[1000], .. "\r\n"u8];
            byte[] group = [.. "*11\r\n$4\r\nMGET\r\n"u8, .. Enumerable.Repeat(word, 10).SelectMany(one => one)];
            if (asOne) client.Send(Encoding.ASCII.GetBytes($"*{words + 2}\r\n$3\r\nDEL\r\n"));
            else client.Ok("MULTI");
            for (int i = 0; i < words / 10; i++)
            {
                client.Send(asOne ? group.AsSpan("*11\r\n$4\r\nMGET\r\n".Length) : group);
                if (!asOne) Assert.Equal("+QUEUED", client.Read().ToString());
            }

            Eventually.Holds(() => kv.ResidentBytes > before + (80 * Mb),
                () => "the server does not hold it");
        }

        Eventually.Holds(() => kv.ResidentBytes < before + (50 * Mb),
            () => $"{kv.ResidentBytes / Mb} MB are resident, {before / Mb} were");
    }

    // Each thread may have a heap of its own, eight a processor, and each keeps what it has had at once.
    [Fact]
    public void Many_threads_share_few_heaps_of_the_C_library()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start("--worker-threads", "16");
        var clients = Enumerable.Range(0, 64).Select(_ => kv.Connect()).ToList();
        foreach (var client in clients) client.Ok("PING");
        foreach (var client in clients) client.Send("*2\r\n$3\r\nGET\r\n$4000\r\n"u8.ToArray().Concat(new byte[3000])
            .ToArray());
        using var watcher = kv.Connect();
        Eventually.Holds(() => long.Parse(watcher.Info("mem_clients_normal"), CultureInfo.InvariantCulture)
            > 64 * 3000, () => "what they have begun has not come");
        // Some before the program's first line: the runtime's.
        Assert.InRange(CountHeaps(kv.Process.Id), 0, Math.Max(2, Environment.ProcessorCount) + 8);
        foreach (var client in clients) client.Dispose();
    }

    /// <summary>The C library's heaps but the first: 64 MB of addresses each, at a multiple of that, used from their
    /// beginning on.</summary>
    private static int CountHeaps(int process)
    {
        const ulong heapBytes = 64 << 20;
        int count = 0;
        ulong begin = 0, end = 0;
        foreach (string line in File.ReadLines($"/proc/{process}/maps"))
        {
            string[] parts = line.Split(' ', 3);
            string[] range = parts[0].Split('-');
            ulong from = ulong.Parse(range[0], NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            ulong to = ulong.Parse(range[1], NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            if (parts[1] == "---p" && from == end && begin % heapBytes == 0 && to == begin + heapBytes) count++;
            (begin, end) = (from, to);
        }

        return count;
    }
}
