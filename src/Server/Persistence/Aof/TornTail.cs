namespace Kv.Server.Persistence.Aof;

/// <summary>Tells what a crash left unfinished at the end of the last file from damage to what was on the
/// disk.</summary>
/// <remarks>
/// Before a crash the end of a file may be on the disk in any part: cut off anywhere, with pieces missing in the
/// middle, with zeros or what was there before in their place. The lines of groups say up to where the file was on the
/// disk when they were written: damage before that is no torn write. A file without groups, of Redis, can only be cut
/// off.
/// </remarks>
internal static class TornTail
{
    private const int ChunkBytes = 1 << 20;

    /// <summary>Whether a damage is what a crash may leave.</summary>
    /// <param name="file">From its first byte.</param>
    /// <param name="damage">The first that there is.</param>
    /// <param name="durable">What the groups before it have said.</param>
    /// <param name="hasGroups">Whether there were any.</param>
    public static bool Is(Stream file, AofDamage damage, long durable, bool hasGroups)
    {
        bool isZero = true, begins = false;
        var buffer = new byte[ChunkBytes + AofGroup.LineBytes];
        file.Position = damage.Offset;
        int kept = 0;
        long at = damage.Offset;
        // Ends: with the file.
        while (true)
        {
            int read = file.ReadAtLeast(buffer.AsSpan(kept), buffer.Length - kept, throwOnEndOfStream: false);
            int length = kept + read;
            if (at == damage.Offset) begins = buffer.AsSpan(0, length).StartsWith(AofGroup.Prefix);
            isZero = isZero && !buffer.AsSpan(0, length).ContainsAnyExcept((byte)0);
            durable = Math.Max(durable, DurableIn(buffer.AsSpan(0, length), ref hasGroups));
            if (durable > damage.Offset) return false;
            if (length < buffer.Length) break;
            // A line may lie across the end.
            kept = AofGroup.LineBytes - 1;
            buffer.AsSpan(length - kept, kept).CopyTo(buffer);
            at += length - kept;
        }

        return damage.IsCut || (damage.AfterGroup && (hasGroups || isZero || begins));
    }

    // Also of a line that stands where it should not: what was before it is missing, or has been there twice.
    private static long DurableIn(ReadOnlySpan<byte> bytes, ref bool hasGroups)
    {
        long durable = 0;
        for (int at = 0; at < bytes.Length; at++)
        {
            int next = bytes[at..].IndexOf(AofGroup.Prefix);
            if (next < 0) break;
            at += next;
            if (!AofGroup.TryRead(bytes[at..], out var group)) continue;
            hasGroups = true;
            durable = Math.Max(durable, group.DurableHere);
        }

        return durable;
    }
}
