using System.Buffers;
using System.Diagnostics;
using Kv.Protocol;

namespace Kv.Server.Persistence.Aof;

/// <summary>Some whole commands of a file, on their way from whoever reads it to whoever runs them.</summary>
/// <param name="offset">Where the first byte is in the file.</param>
/// <param name="pool">Where <paramref name="bytes"/> are from.</param>
internal sealed class AofChunk(byte[] bytes, long offset, ArrayPool<byte> pool)
{
    public byte[] Bytes => bytes;

    /// <summary>Bytes that may be filled.</summary>
    public int Capacity => bytes.Length - CommandParser.PaddingBytes;

    public int Length { get; set; }

    public long Offset => offset;

    /// <summary>The parts that are to be run, in their order.</summary>
    public List<AofRun> Runs { get; } = [];

    public static AofChunk Rent(ArrayPool<byte> pool, int capacity, long offset) =>
        new(pool.Rent(capacity + CommandParser.PaddingBytes), offset, pool);

    public void Return() => pool.Return(bytes);

    /// <summary>Adds bytes to be run after those before.</summary>
    public void Add(int start, int length, AofKind kind)
    {
        Debug.Assert(start >= 0 && length > 0 && start + length <= Length, "it is in the chunk");
        if (Runs.Count > 0 && Runs[^1] is var last && last.Kind == kind && last.Start + last.Length == start)
            Runs[^1] = last with { Length = last.Length + length };
        else Runs.Add(new AofRun(start, length, kind));
    }

    /// <summary>How much there is to be run by now.</summary>
    public (int Runs, int LastLength) Mark() => (Runs.Count, Runs.Count == 0 ? 0 : Runs[^1].Length);

    /// <summary>Forgets what was added since.</summary>
    public void Rewind((int Runs, int LastLength) mark)
    {
        Debug.Assert(mark.Runs <= Runs.Count, "the mark is from before");
        Runs.RemoveRange(mark.Runs, Runs.Count - mark.Runs);
        if (mark.Runs > 0) Runs[^1] = Runs[^1] with { Length = mark.LastLength };
    }
}

/// <summary>Commands of a chunk that are run alike.</summary>
internal readonly record struct AofRun(int Start, int Length, AofKind Kind);
