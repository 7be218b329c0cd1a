using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>HyperLogLogs over many keys, of many sessions at once, and without memory.</summary>
public class HyperLogLogCommandTests
{
    [Fact]
    public void Many_sessions_adding_to_one_key_lose_no_element()
    {
        const int sessions = 4, elements = 6000;
        using var server = KvInstance.Start("--worker-threads", "4");
        Parallel.For(0, sessions, session =>
        {
            using var client = server.Connect();
            for (int first = 0; first < elements; first += 100)
            {
                // One element a command, a hundred commands a pipeline; another session adds the same half of them.
                for (int i = 0; i < 100; i++) client.Send($"PFADD h {(session / 2 * elements) + first + i}");
                for (int i = 0; i < 100; i++) Assert.Equal(':', client.Read().Type);
                client.Ok("PFCOUNT h");
            }
        });

        var draft = new HyperLogLogDraft { SparseBytesMax = 3000 };
        draft.LoadEmpty();
        for (int i = 0; i < sessions / 2 * elements; i++) draft.Add(HyperLogLog.Observe(RespText.Bytes(i.ToString())));
        byte[] expected = draft.Text.ToArray();
        using var reader = server.Connect();
        byte[] found = reader.Ok("GET h").Text!;
        Assert.True(found.AsSpan(HyperLogLog.HeaderBytes).SequenceEqual(expected.AsSpan(HyperLogLog.HeaderBytes)),
            "registers differ");
    }

    [Theory]
    [InlineData(3)]
    [InlineData(1024)]
    [InlineData(5000)]
    public void Keys_are_counted_together_however_many_they_are(int keys)
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        for (int i = 0; i < keys; i++) client.Send($"PFADD h{i} {i} {i + 1} common");
        for (int i = 0; i < keys; i++) Assert.Equal(1, client.Read().Integer);
        client.Ok("PFADD all common");
        for (int i = 0; i <= keys; i++) client.Send($"PFADD all {i}");
        for (int i = 0; i <= keys; i++) client.Read();
        string names = string.Join(' ', Enumerable.Range(0, keys).Select(i => $"h{i}"));
        long expected = client.Ok("PFCOUNT all").Integer;
        Assert.Equal(expected, client.Ok($"PFCOUNT {names}").Integer);
        client.Ok($"PFMERGE merged {names}");
        Assert.Equal(expected, client.Ok("PFCOUNT merged").Integer);

        client.Ok("SET text x");
        Assert.Equal("-WRONGTYPE Key is not a valid HyperLogLog string value.",
            client.Command($"PFCOUNT {names} text").ToString());
        Assert.Equal("-WRONGTYPE Key is not a valid HyperLogLog string value.",
            client.Command($"PFMERGE merged {names} text").ToString());
    }

    [Fact]
    public void A_corrupt_value_that_PFADD_meets_stays_as_it_was()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        // Opcodes for 64 registers of 16,384: an element that falls into them is taken, another is not.
        byte[] cut = [.. "HYLL\x01\0\0\0"u8, .. new byte[8], 0x3F];
        client.Command("SET"u8.ToArray(), "k"u8.ToArray(), cut);
        string elements = string.Join(' ', Enumerable.Range(0, 2000));
        Assert.Equal("-INVALIDOBJ Corrupted HLL object detected", client.Command($"PFADD k {elements}").ToString());
        Assert.Equal(cut, client.Ok("GET k").Text);
    }

    [Fact]
    public void The_longest_opcodes_that_a_client_can_send_are_refused()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        client.Command("SET"u8.ToArray(), "k"u8.ToArray(),
            [.. "HYLL\x01\0\0\0"u8, .. new byte[7], 0x80, .. new byte[10_000_000]]);
        foreach (string command in (string[])["PFADD k 1", "PFCOUNT k", "PFMERGE d k", "PFDEBUG DECODE k",
            "PFDEBUG GETREG k", "PFDEBUG TODENSE k"])
            Assert.Equal("-INVALIDOBJ Corrupted HLL object detected", client.Command(command).ToString());
    }
}
