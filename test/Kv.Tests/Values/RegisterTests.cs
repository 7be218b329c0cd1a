using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Protocol;

namespace Kv.Tests.Values;

/// <summary>The registers of HyperLogLogs, dense and sparse, against an array of numbers; on bytes that end at an
/// inaccessible page.</summary>
public class RegisterTests
{
    private const int Registers = HyperLogLog.Registers;

    [Fact]
    public void Dense_registers_are_six_bits_each_from_the_lowest_on()
    {
        Random random = Seed.NewRandom(51);
        using var guarded = new GuardedInput(DenseRegisters.Bytes);
        for (int round = TimeBudget.Count(5); round > 0; round--)
        {
            byte[] expected = RandomRegisters(random, DenseRegisters.Max);
            Span<byte> packed = guarded.PlaceAtPage(new byte[DenseRegisters.Bytes]);
            foreach (int register in Shuffled(random))
                Assert.Equal(expected[register] > 0, DenseRegisters.Raise(packed, register, expected[register]));
            for (int register = 0; register < Registers; register++)
            {
                int value = 0;
                for (int bit = 0; bit < 6; bit++)
                {
                    int at = (register * 6) + bit;
                    value |= ((packed[at / 8] >> (at % 8)) & 1) << bit;
                }

                Assert.Equal(expected[register], value);
                Assert.Equal(value, DenseRegisters.Get(packed, register));
                Assert.False(DenseRegisters.Raise(packed, register, value));
            }
        }
    }

    [Fact]
    public void Packing_unpacking_and_merging_are_the_same_with_vectors_and_without()
    {
        Random random = Seed.NewRandom(52);
        using GuardedInput one = new(DenseRegisters.Bytes), other = new(Registers);
        for (int round = TimeBudget.Count(50); round > 0; round--)
        {
            byte[] registers = RandomRegisters(random, random.Next(DenseRegisters.Max + 1)),
                more = RandomRegisters(random, random.Next(DenseRegisters.Max + 1));
            byte[] packedScalar = new byte[DenseRegisters.Bytes];
            DenseRegisters.PackScalar(registers, packedScalar);
            Span<byte> packed = one.PlaceAtPage(new byte[DenseRegisters.Bytes]);
            DenseRegisters.Pack(other.PlaceAtPage(registers), packed);
            Assert.True(packed.SequenceEqual(packedScalar), Seed.Hint);

            Span<byte> unpacked = other.PlaceAtPage(new byte[Registers]);
            DenseRegisters.Unpack(packed, unpacked);
            Assert.True(unpacked.SequenceEqual(registers), Seed.Hint);

            byte[] highest = [.. registers.Zip(more, Math.Max)];
            Span<byte> merged = other.PlaceAtPage(more);
            DenseRegisters.Merge(packed, merged);
            Assert.True(merged.SequenceEqual(highest), Seed.Hint);
            DenseRegisters.MergeScalar(packed, more);
            Assert.Equal(highest, more);
        }
    }

    [Fact]
    public void Histograms_count_the_registers_of_each_value()
    {
        Random random = Seed.NewRandom(53);
        using GuardedInput one = new(DenseRegisters.Bytes), other = new(Registers);
        for (int round = TimeBudget.Count(50); round > 0; round--)
        {
            int lowest = random.Next(DenseRegisters.Max + 1);
            byte[] registers = [.. RandomRegisters(random, random.Next(DenseRegisters.Max + 1 - lowest))
                .Select(value => (byte)(value + lowest))];
            int[] expected = new int[RegisterHistogram.Length], found = new int[RegisterHistogram.Length],
                dense = new int[RegisterHistogram.Length];
            foreach (byte value in registers) expected[value]++;
            RegisterHistogram.Of(other.PlaceAtPage(registers), found);
            Assert.Equal(expected, found);
            Span<byte> packed = one.PlaceAtPage(new byte[DenseRegisters.Bytes]);
            DenseRegisters.Pack(registers, packed);
            RegisterHistogram.OfDense(packed, dense);
            Assert.Equal(expected, dense);
        }
    }

    // What the bytes must be, a real server says (HyperLogLogBytesTests); here they mean what was put in, whatever the
    // order.
    [Fact]
    public void Sparse_registers_are_what_they_were_raised_to()
    {
        Random random = Seed.NewRandom(54);
        byte[] text = new byte[HyperLogLog.SparseBytesMax + SparseRegisters.GrowthMax], found = new byte[Registers];
        for (int round = TimeBudget.Count(60); round > 0; round--)
        {
            byte[] expected = new byte[Registers];
            HyperLogLog.WriteEmpty(text);
            int length = HyperLogLog.EmptyBytes, places = random.Next(2) == 0 ? Registers : random.Next(1, 300),
                ranks = random.Next(1, 33);
            for (int i = random.Next(2000); i > 0; i--)
            {
                int register = random.Next(places), rank = random.Next(1, ranks + 1);
                var cursor = SparseRegisters.Cursor.Start;
                var result = SparseRegisters.Raise(text, ref length, new(register, rank), long.MaxValue, ref cursor);
                Assert.Equal(rank > expected[register] ? SparseResult.Raised : SparseResult.Unchanged, result);
                expected[register] = Math.Max(expected[register], (byte)rank);
            }

            Array.Clear(found);
            Assert.True(SparseRegisters.TryMerge(text.AsSpan(0, length), found), Seed.Hint);
            Assert.True(found.AsSpan().SequenceEqual(expected), Seed.Hint);
            int[] histogram = new int[RegisterHistogram.Length];
            Assert.True(SparseRegisters.TryCount(text.AsSpan(0, length), histogram));
            for (int rank = 0; rank <= 32; rank++)
                Assert.Equal(expected.Count(value => value == rank), histogram[rank]);
        }
    }

    [Fact]
    public void Raising_all_registers_in_order_leaves_the_bytes_of_raising_each_by_itself()
    {
        Random random = Seed.NewRandom(55);
        for (int round = TimeBudget.Count(100); round > 0; round--)
        {
            // Few ranks and registers close together, so that opcodes are split and joined in every way.
            int places = random.Next(3) == 0 ? Registers : random.Next(1, 400), ranks = random.Next(1, 5);
            byte[] text = new byte[HyperLogLog.SparseBytesMax + SparseRegisters.GrowthMax], union = new byte[Registers];
            HyperLogLog.WriteEmpty(text);
            int length = HyperLogLog.EmptyBytes;
            for (int i = random.Next(600); i > 0; i--)
            {
                var cursor = SparseRegisters.Cursor.Start;
                SparseRegisters.Raise(text, ref length, new(random.Next(places), random.Next(1, ranks + 1)),
                    long.MaxValue, ref cursor);
            }

            Assert.True(SparseRegisters.TryMerge(text.AsSpan(0, length), union));
            for (int i = random.Next(600); i > 0; i--)
            {
                int register = random.Next(places);
                union[register] = Math.Max(union[register], (byte)random.Next(1, ranks + 1));
            }

            var ordered = new HyperLogLogDraft();
            Assert.True(ordered.TryLoad(text.AsSpan(0, length)));
            ordered.RaiseTo(union);
            for (int register = 0; register < Registers; register++)
            {
                if (union[register] == 0) continue;
                var cursor = SparseRegisters.Cursor.Start;
                SparseRegisters.Raise(text, ref length, new(register, union[register]), long.MaxValue, ref cursor);
            }

            Assert.True(ordered.Text.SequenceEqual(text.AsSpan(0, length)),
                $"{places} places, {ranks} ranks; {Seed.Hint}");
        }
    }

    private static byte[] RandomRegisters(Random random, int max)
    {
        byte[] registers = new byte[Registers];
        for (int register = 0; register < Registers; register++) registers[register] = (byte)random.Next(max + 1);
        return registers;
    }

    private static int[] Shuffled(Random random)
    {
        int[] registers = [.. Enumerable.Range(0, Registers)];
        random.Shuffle(registers);
        return registers;
    }
}
