using System.Globalization;
using System.Text;

namespace RespBenchmark.Workload;

/// <summary>Tags that put keys into a chosen slot of a cluster.</summary>
internal static class HashTag
{
    public const int Slots = 16384;

    /// <summary>The shortest number in braces that hashes to a slot.</summary>
    public static string For(int slot)
    {
        // Ends: the checksums of the numbers below 10^6 reach every slot (a test tries them all).
        for (int number = 0; ; number++)
        {
            string text = number.ToString(CultureInfo.InvariantCulture);
            if (SlotOf(Encoding.ASCII.GetBytes(text)) == slot) return $"{{{text}}}";
        }
    }

    /// <summary>CRC-16 with polynomial 0x1021 from 0, highest bit first, modulo the slots.</summary>
    public static int SlotOf(ReadOnlySpan<byte> text)
    {
        int crc = 0;
        foreach (byte letter in text)
        {
            crc ^= letter << 8;
            for (int bit = 0; bit < 8; bit++) crc = (crc & 0x8000) != 0 ? ((crc << 1) ^ 0x1021) & 0xFFFF : crc << 1;
        }

        return crc % Slots;
    }
}
