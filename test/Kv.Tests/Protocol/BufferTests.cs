using Kv.Protocol;

namespace Kv.Tests.Protocol;

public unsafe class BufferTests
{
    [Fact]
    public void Output_keeps_its_bytes_while_it_grows_and_when_the_front_is_sent()
    {
        using var output = new OutputBuffer(16);
        byte[] expected = new byte[100_000];
        new Random(1).NextBytes(expected);
        for (int at = 0; at < expected.Length; at += 777)
            output.Append(expected.AsSpan(at, Math.Min(777, expected.Length - at)));
        Assert.True(output.Span.SequenceEqual(expected));
        output.RemoveFront(70_001);
        Assert.True(output.Span.SequenceEqual(expected.AsSpan(70_001)));
        output.Truncate(5);
        Assert.True(output.Span.SequenceEqual(expected.AsSpan(70_001, 5)));
        output.RemoveFront(5);
        Assert.Equal(0, output.Length);
    }

    [Fact]
    public void Output_gives_its_memory_back_after_a_huge_reply_but_not_after_a_large_one()
    {
        using var output = new OutputBuffer();
        Assert.Equal(0, output.CapacityBytes);
        output.Append(new byte[1024 * 1024]);
        output.Clear();
        long kept = output.CapacityBytes;
        Assert.InRange(kept, 1024 * 1024, OutputBuffer.DefaultKeptBytes);
        output.Append(new byte[OutputBuffer.DefaultKeptBytes + 1]);
        output.Clear();
        Assert.Equal(0, output.CapacityBytes);
        output.Append("again"u8);
        Assert.Equal(5, output.Length);
    }

    [Fact]
    public void Words_stored_past_a_reservation_stay_in_the_slack()
    {
        using var output = new OutputBuffer(8);
        for (int round = 0; round < 2000; round++)
        {
            // Right up to the capacity: the allocator's checks (and the other tests) would notice a byte beyond.
            *(ulong*)output.Reserve(1) = ulong.MaxValue;
            output.Commit(1);
        }

        Assert.True(output.Span.IndexOfAnyExcept((byte)255) < 0);
    }

    [Fact]
    public void The_table_grows_with_its_arguments_and_shrinks_after_a_huge_command()
    {
        using var table = new ArgumentTable();
        byte some = 1;
        long small = table.CapacityBytes;
        for (int index = 0; index < ArgumentTable.KeptCapacity; index++) table.Add(&some, index);
        table.Clear();
        Assert.Equal(ArgumentTable.KeptCapacity * Argument.SizeBytes, table.CapacityBytes);
        for (int index = 0; index <= ArgumentTable.KeptCapacity; index++) table.Add(&some, index);
        for (int index = 0; index < table.Count; index++) Assert.Equal(index, table.Items[index].Length);
        table.Clear();
        Assert.Equal(small, table.CapacityBytes);
        Assert.Equal(0, table.Count);
    }

    [Fact]
    public void Quoted_text_costs_no_more_memory_than_its_line()
    {
        using var run = new ParserRun();
        byte[] line = [.. Enumerable.Repeat("\"\" "u8.ToArray(), 20_000).SelectMany(word => word), (byte)'\n'];
        var commands = new List<byte[][]>();
        run.ParseAll(line, commands, out _);
        Assert.Equal(20_000, commands.Single().Length);
        Assert.InRange(run.Table.CapacityBytes, 0, (64 * 1024 * Argument.SizeBytes) + line.Length + 8192);
    }

    [Fact]
    public void An_argument_is_sixteen_bytes() => Assert.Equal(Argument.SizeBytes, sizeof(Argument));
}
