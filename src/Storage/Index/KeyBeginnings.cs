using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>How keys begin whose changes are told, whoever reads them: their first bytes, as far as a word holds
/// them.</summary>
/// <remarks>
/// Threads: any; it never changes. Cost: of a key one load, and a comparison for each beginning. It is asked at every
/// write while anybody wants such keys, so whoever writes others is to pay hardly more than that.
/// </remarks>
internal sealed class KeyBeginnings
{
    /// <summary>With more than these every key may be told: whoever is told looks closer.</summary>
    private const int BeginningsMax = 8;

    private readonly (ulong Word, ulong Mask)[] _beginnings;

    public KeyBeginnings(IReadOnlyCollection<byte[]> beginnings)
    {
        // A mask of nothing fits every key.
        _beginnings = beginnings.Count > BeginningsMax ? [(0, 0)]
            : [.. beginnings.Select(static one => (FirstWord(one), MaskOf(one.Length)))];
    }

    /// <summary>Whether a key may begin with one of them. False is certain.</summary>
    public bool MayHave(ReadOnlySpan<byte> key)
    {
        ulong first = FirstWord(key);
        foreach (var (word, mask) in _beginnings)
            if ((first & mask) == word) return true;
        return false;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong FirstWord(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length >= sizeof(ulong)) return MemoryMarshal.Read<ulong>(bytes);
        // What a short one lacks is zeros: then it may be taken for a key that has them, which is looked at closer.
        ulong word = 0;
        bytes.CopyTo(MemoryMarshal.AsBytes(new Span<ulong>(ref word)));
        return word;
    }

    private static ulong MaskOf(int length)
    {
        Span<byte> mask = stackalloc byte[sizeof(ulong)];
        mask.Clear();
        mask[..Math.Min(length, mask.Length)].Fill(0xFF);
        return MemoryMarshal.Read<ulong>(mask);
    }
}
