using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Rdb;

public class Crc64Tests
{
    [Fact]
    public void The_check_value_is_that_of_the_polynomial() =>
        Assert.Equal(0xE9C6D914C4B8D9CAUL, Crc64.Append(0, "123456789"u8));

    [Fact]
    public void Any_length_in_any_two_parts_is_what_it_is_bit_by_bit()
    {
        Random random = Seed.NewRandom(900);
        for (int length = 0; length < 70; length++)
        {
            byte[] bytes = new byte[length];
            random.NextBytes(bytes);
            ulong expected = BitByBit(bytes);
            for (int cut = 0; cut <= length; cut++)
                Assert.Equal(expected, Crc64.Append(Crc64.Append(0, bytes.AsSpan(0, cut)), bytes.AsSpan(cut)));
        }
    }

    private static ulong BitByBit(byte[] bytes)
    {
        ulong crc = 0;
        foreach (byte next in bytes)
        {
            crc ^= next;
            for (int bit = 0; bit < 8; bit++) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x95AC9329AC4BC9B5 : crc >> 1;
        }

        return crc;
    }
}
