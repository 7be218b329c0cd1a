using System.Buffers.Binary;
using System.Diagnostics;
using System.Text;

namespace Kv.Storage;

/// <summary>Writes an RDB file (drawn above <see cref="RdbOpcode"/>): what all keys hold, for servers and tools of
/// Redis.</summary>
/// <remarks>Threads: one at a time.</remarks>
/// <param name="file">Gets the bytes; buffered, and the caller's.</param>
/// <param name="compresses">Whether strings are compressed.</param>
/// <param name="isSummed">Whether the file ends with a checksum.</param>
internal sealed class RdbFileWriter(Store store, Stream file, bool compresses, bool isSummed) : IRdbTarget, IDisposable
{
    /// <summary>The version that is written: that of Redis 7.0, or of 7.4, where fields of a hash expire.</summary>
    private const int Version = 10, VersionOfExpiry = 12;

    /// <summary>The file gets no more at a time, so that it can be seen to go on.</summary>
    public const int PieceBytes = 1 << 20;

    private Stream _file = file;
    private RdbKeyWriter? _keys;
    private ulong _sum;
    private long _bytes;

    /// <inheritdoc cref="RdbValueWriter.OmitsFieldExpiries"/>
    public bool OmitsFieldExpiries { get; init; }

    /// <summary>Bytes that the file has got. From any thread.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Writes keys into the file.</summary>
    public RdbKeyWriter Keys => _keys ??= new RdbKeyWriter(store, this, compresses, OmitsFieldExpiries);

    private RdbOutput Output => Keys.Output;

    /// <summary>Begins the file.</summary>
    /// <param name="hasFieldExpiries">Whether fields of hashes expire, which only Redis 7.4 reads.</param>
    public void Begin(bool hasFieldExpiries)
    {
        hasFieldExpiries &= !OmitsFieldExpiries;
        Keys.Begin();
        Output.Write(Encoding.ASCII.GetBytes($"REDIS{(hasFieldExpiries ? VersionOfExpiry : Version):D4}"));
    }

    /// <summary>What follows goes into another stream, which has got what the one before has.</summary>
    /// <param name="file">The caller's.</param>
    public void GoOnIn(Stream file) => _file = file;

    /// <summary>Something about the file, which readers may pass over.</summary>
    public void WriteAux(string name, string value)
    {
        Output.WriteByte((byte)RdbOpcode.Aux);
        Output.WriteString(Encoding.UTF8.GetBytes(name));
        Output.WriteString(Encoding.UTF8.GetBytes(value));
    }

    public void WriteLibrary(ReadOnlySpan<byte> text)
    {
        Output.WriteByte((byte)RdbOpcode.Library);
        Output.WriteString(text);
        Keys.Flush();
    }

    /// <summary>The keys from here on are of this database.</summary>
    /// <param name="keys">About how many there are.</param>
    /// <param name="expiring">About how many of them expire.</param>
    public void BeginDatabase(int number, long keys, long expiring)
    {
        Debug.Assert(keys >= 0 && expiring >= 0, "keys are counted");
        Keys.Select(number);
        Output.WriteByte((byte)RdbOpcode.Sizes);
        Output.WriteLength((ulong)keys);
        Output.WriteLength((ulong)expiring);
    }

    /// <summary>Ends the file. Its bytes are all written to the stream, which is not flushed.</summary>
    public void End()
    {
        Output.WriteByte((byte)RdbOpcode.End);
        Keys.Flush();
        Span<byte> sum = stackalloc byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(sum, _sum);
        Write(sum);
    }

    /// <summary>Appends bytes of the format.</summary>
    public void Write(ReadOnlySpan<byte> bytes)
    {
        Fault.Point("rdb.write");
        if (isSummed) _sum = Crc64.Append(_sum, bytes);
        for (; bytes.Length > PieceBytes; bytes = bytes[PieceBytes..]) WritePiece(bytes[..PieceBytes]);
        WritePiece(bytes);
    }

    private void WritePiece(ReadOnlySpan<byte> bytes)
    {
        _file.Write(bytes);
        Volatile.Write(ref _bytes, _bytes + bytes.Length);
    }

    public void Dispose() => _keys?.Dispose();
}
