using System.Globalization;
using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>What the process has of the system and what it says that it uses agree, after any storm: within 15 % and 64
/// MB, and the program itself.</summary>
public sealed class ResidentMemoryTests(ITestOutputHelper output)
{
    private const long ProgramBytes = 32 << 20;     // the runtime's code and data, which nobody counts as used

    // Ten replies of 24 MB at a time that nobody reads, and who asked leaves. Of the heap's memory 1.3 GB stayed for
    // good, with ten of 70 MB.
    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public void Large_replies_that_are_read_late_leave_nothing_behind(string transport)
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start("--transport", transport);
        using var client = kv.Connect();
        for (int i = 0; i < 200_000; i += 10_000)
            client.Command([RespText.Bytes("HSET"), RespText.Bytes("h"),
                .. Enumerable.Range(i, 10_000).SelectMany(j => new[] { RespText.Bytes("f" + j), new byte[100] })]);
        for (int round = 0; round < 3; round++)
        {
            var slow = new List<Socket>();
            for (int i = 0; i < 10; i++)
            {
                var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream,
                    ProtocolType.Tcp) { ReceiveBufferSize = 4096 };
                socket.Connect(kv.EndPoint);
                socket.Send(RespText.Encode("HGETALL h"));
                slow.Add(socket);
            }

            Eventually.Holds(() => Used(client) > 10 * (20L << 20),
                () => $"{Used(client)} bytes are used while ten wait for their replies");
            slow.ForEach(socket => socket.Dispose());
            Eventually.Holds(() => Used(client) < 100L << 20,
                () => $"{Used(client)} bytes are used when they have left");
        }

        Agree(kv, client);
        client.Ok("FLUSHALL");
        Agree(kv, client);
    }

    // Values of 1 KB to 4 MB, overwritten by others and every other deleted; then all of them.
    [Fact]
    public void Large_values_of_all_lengths_leave_nothing_behind()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start();
        using var client = kv.Connect();
        var random = Seed.NewRandom();
        byte[] longest = new byte[4 << 20];
        for (int i = 0; i < 3000; i++)
        {
            int length = (int)Math.Exp(random.NextDouble() * Math.Log(longest.Length / 1024)) * 1024;
            Assert.Equal("+OK", client.Command("SET"u8.ToArray(), RespText.Bytes("k" + random.Next(600)),
                longest[..length]).ToString());
        }

        Agree(kv, client);
        for (int i = 0; i < 600; i += 2) client.Command($"DEL k{i}");
        Agree(kv, client);
        client.Ok("FLUSHALL");
        Agree(kv, client);
    }

    // Half a gigabyte stayed until some hundred thousand other scripts had run: a runtime that is asked for nothing
    // collects nothing.
    [Fact]
    public void What_scripts_have_used_is_given_back_while_nobody_calls()
    {
        Requires.Linux("reads /proc");
        using var kv = KvProcess.Start();
        using var client = kv.Connect();
        byte[][] script = [.. "EVAL|return #ARGV[1]|0".Split('|').Select(RespText.Bytes), new byte[256 << 20]];
        Assert.Equal($":{256 << 20}", client.Command(script).ToString());
        for (int i = 0; i < 10; i++)
        {
            byte[][] small = [.. "EVAL|local t = {} for i = 1, 400000 do t[i] = {} end return #t|0".Split('|')
                .Select(RespText.Bytes)];
            Assert.Equal(":400000", client.Command(small).ToString());
        }

        long used = Used(client);
        Eventually.Holds(() => kv.ResidentBytes <= (used * 115 / 100) + (64L << 20) + ProgramBytes,
            () => $"{kv.ResidentBytes >> 20} MB are resident, {used >> 20} used");
    }

    private static long Used(RespClient client) => long.Parse(client.Info("used_memory"), CultureInfo.InvariantCulture);

    private void Agree(KvProcess kv, RespClient client)
    {
        Eventually.Holds(() => kv.ResidentBytes <= (Used(client) * 115 / 100) + (64L << 20) + ProgramBytes,
            () => $"{kv.ResidentBytes >> 20} MB are resident, {Used(client) >> 20} used, "
                + $"{long.Parse(client.Info("kv_mem_warm"), CultureInfo.InvariantCulture) >> 20} warm; {Seed.Hint}");
        output.WriteLine($"{kv.ResidentBytes >> 20} MB resident, {Used(client) >> 20} used");
    }
}
