using System.Globalization;
using Kv.Tests.Storage;

namespace Kv.Tests.Index;

/// <summary>Names that anybody can make to collide under a hash that everybody knows: FNV-1a, of which they all have
/// the same 16 bits.</summary>
internal static class FnvCollisions
{
    private const ushort Prime = 0x0193, InverseOfPrime = 0x449B;

    /// <summary>So many different names whose hash is 0 in its low 16 bits, all in printable ASCII or below.</summary>
    public static List<byte[]> Names(int count)
    {
        // The low 16 bits of FNV-1a depend on nothing but themselves: for each state, an end of three bytes that makes
        // it 0.
        var ends = new int[65_536];
        Array.Fill(ends, -1);
        for (int last = 0; last < 1 << 21; last++)
        {
            ushort state = 0;
            for (int shift = 0; shift < 21; shift += 7)
                state = (ushort)(unchecked((ushort)(state * InverseOfPrime)) ^ ((last >> shift) & 127));
            ends[state] = last;
        }

        var colliding = new List<byte[]>();
        for (int i = 0; colliding.Count < count; i++)
        {
            byte[] name = TestStore.Bytes("c" + i.ToString(CultureInfo.InvariantCulture) + ":...");
            ushort state = Fnv(name.AsSpan(0, name.Length - 3));
            if (ends[state] < 0) continue;
            for (int part = 0; part < 3; part++) name[^(1 + part)] = (byte)((ends[state] >> (7 * part)) & 127);
            Assert.Equal(0, Fnv(name));
            colliding.Add(name);
        }

        return colliding;
    }

    private static ushort Fnv(ReadOnlySpan<byte> name)
    {
        ushort state = 0x9DC5;
        foreach (byte one in name) state = unchecked((ushort)((state ^ one) * Prime));
        return state;
    }
}
