using Kv.Tests.Harness;

namespace Kv.Tests.Collections;

/// <summary>What many elements take at most is reserved before any is added. What they did not take is not paid
/// for.</summary>
public sealed class ReservationEndTests
{
    // The first four took 24,608, 24,608, 143,392 and 417,824 bytes.
    [Theory]
    [InlineData("RPUSH", 10, 1000, 13_000)]
    [InlineData("LPUSH", 10, 1000, 13_000)]
    [InlineData("RPUSH", 10, 5000, 58_000)]
    [InlineData("RPUSH", 100, 1025, 120_000)]
    [InlineData("RPUSH", 1000, 5000, 5_200_000)]
    [InlineData("RPUSH", 20_000, 100, 2_150_000)]
    [InlineData("SADD", 10_000, 10, 370_000)]
    [InlineData("HSET", 5_000, 10, 300_000)]
    [InlineData("ZADD", 10_000, 10, 620_000)]
    public void Elements_of_one_command_take_about_what_they_do_one_by_one(
        string command, int count, int length, int most)
    {
        using var kv = KvInstance.Start();
        using RespClient client = kv.Connect();
        IEnumerable<string> items = Enumerable.Range(0, count).Select(i => i.ToString("D" + length, null));
        if (command == "HSET") items = items.Select(item => $"{item} v");
        if (command == "ZADD") items = items.Select((item, i) => $"{i} {item}");
        Assert.Equal(count, client.Ok($"{command} k {string.Join(' ', items)}").Integer);
        long bytes = client.Ok("MEMORY USAGE k").Integer;
        Assert.InRange(bytes, (long)count * length, most);
        kv.Server.Store.CheckIntegrity();

        // What comes then finds its room, and nothing is left of it when it is gone.
        for (int i = 0; i < 300; i++)
            client.Ok(command is "HSET" or "ZADD" ? $"{command} k {i} {i}" : $"{command} k {i}");
        client.Ok("COPY k other");
        kv.Server.Store.CheckIntegrity();
        client.Ok("DEL k other");
        kv.Server.Store.CheckIntegrity();
    }

    // A list of elements that are alone, one by one: 32,800 when it was unpacked.
    [Fact]
    public void A_list_that_is_no_longer_packed_takes_about_what_it_holds()
    {
        using var kv = KvInstance.Start();
        using RespClient client = kv.Connect();
        for (int i = 0; i < 9; i++) client.Ok($"RPUSH k {new string('x', 1100)}");
        Assert.Equal("\"quicklist\"", client.Ok("OBJECT ENCODING k").ToString());
        Assert.InRange(client.Ok("MEMORY USAGE k").Integer, 9900, 18_000);
    }
}
