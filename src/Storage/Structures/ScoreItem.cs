using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   item, a piece of the region:   | length prefix | member | score 8 |

/// <summary>An element as a large sorted set keeps it: a <see cref="MemberItem"/> with a score.</summary>
internal static unsafe class ScoreItem
{
    /// <summary>Bytes of an item.</summary>
    public static int SizeOf(int memberLength) => MemberItem.SizeOf(memberLength, sizeof(double));

    public static void Write(byte* item, double score, ReadOnlySpan<byte> member) =>
        Unsafe.WriteUnaligned(MemberItem.Write(item, member), score);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static double ScoreOf(byte* item) => Unsafe.ReadUnaligned<double>(MemberItem.PayloadOf(item));

    public static void SetScore(byte* item, double score) => Unsafe.WriteUnaligned(MemberItem.PayloadOf(item), score);
}
