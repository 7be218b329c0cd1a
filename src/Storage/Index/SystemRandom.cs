using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Random numbers that nobody can guess, from the system's own source.</summary>
/// <remarks>
/// Through <see cref="Guid.NewGuid"/>, which takes its 122 random bits from the kernel. RandomNumberGenerator takes
/// them from OpenSSL, and to load that is a tenth of the start of a server that needs it for nothing else.
/// </remarks>
internal static class SystemRandom
{
    public static void Fill(Span<ulong> words)
    {
        Span<byte> guid = stackalloc byte[16];
        foreach (ref ulong word in words)
        {
            Guid.NewGuid().TryWriteBytes(guid);
            // The version is in byte 7, the variant in byte 8: they are left out.
            word = MemoryMarshal.Read<uint>(guid) | ((ulong)MemoryMarshal.Read<uint>(guid[12..]) << 32);
        }
    }
}
