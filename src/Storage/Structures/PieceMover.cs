using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Moves pieces of a region out of pages that are to be emptied, as far as what was reserved goes.</summary>
/// <param name="region">In the moving phase of a round.</param>
/// <param name="bytes">Bytes that were reserved for it.</param>
internal unsafe ref struct PieceMover(Region region, long bytes)
{
    /// <summary>Longer pieces stay: their pages are their own, but for the first and the last.</summary>
    public const int PieceBytesMax = 64 * 1024;

    private const int AlignBytes = 56;

    private readonly Region _region = region;
    private long _bytes = bytes;

    /// <summary>Bytes that the next piece needs, when they are more than are left.</summary>
    public uint Wanted { get; private set; }

    /// <summary>Whether a piece of up to a page, whose size is not known, may be in a page that is to be
    /// emptied.</summary>
    public readonly bool MayWant(uint piece) => _region.Pages.MayBeClosed(piece);

    /// <summary>Copies a piece elsewhere if it has to move. The old one is still there, for the caller to give
    /// back.</summary>
    /// <param name="moved">The copy; <paramref name="piece"/> itself if it need not move.</param>
    /// <returns>False when not enough is reserved: nothing has changed, and nothing else is to be moved now.</returns>
    public bool TryCopy(uint piece, int bytes, out uint moved, bool aligned = false)
    {
        Debug.Assert(piece != 0 && bytes > 0, "a piece has a name and a length");
        moved = piece;
        int size = Region.SizeOf(bytes);
        if (size > PieceBytesMax || !_region.Pages.IsClosed(piece, (uint)size / Region.UnitBytes)) return true;
        if (size + AlignBytes > _bytes)
        {
            Wanted = (uint)size + AlignBytes;
            return false;
        }

        _bytes -= size + AlignBytes;
        moved = aligned ? _region.TakeAligned(bytes) : _region.Take(bytes);
        Unsafe.CopyBlockUnaligned(_region.At(moved), _region.At(piece), (uint)size);
        return true;
    }

    /// <summary>Moves a piece that only one place leads to, if it has to.</summary>
    /// <inheritdoc cref="TryCopy"/>
    public bool TryMove(ref uint name, int bytes, bool aligned = false)
    {
        uint old = name;
        if (!TryCopy(old, bytes, out uint moved, aligned)) return false;
        if (moved == old) return true;
        name = moved;
        _region.Give(old, bytes);
        return true;
    }
}
