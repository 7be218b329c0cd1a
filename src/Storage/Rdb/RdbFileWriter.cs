using System.Buffers.Binary;
using System.Diagnostics;
using System.Text;

namespace Kv.Storage;

/// <summary>Writes an RDB file (drawn above <see cref="RdbOpcode"/>): what all keys hold, for servers and tools of
/// Redis.</summary>
/// <remarks>
/// A large value is written in pieces: what is in memory is a piece, an element or a node of it. Nobody changes a value
/// while it is written. Threads: one at a time.
/// </remarks>
/// <param name="file">Gets the bytes; buffered, and the caller's.</param>
/// <param name="compresses">Whether strings are compressed.</param>
/// <param name="isSummed">Whether the file ends with a checksum.</param>
internal sealed class RdbFileWriter(Store store, Stream file, bool compresses, bool isSummed) : IDisposable
{
    /// <summary>The version that is written: that of Redis 7.0, or of 7.4, where fields of a hash expire.</summary>
    private const int Version = 10, VersionOfExpiry = 12;

    /// <summary>What is written goes to the file once it is as much.</summary>
    private const int PieceBytes = 4096;

    /// <summary>Longer strings go to the file from where they are.</summary>
    private const int CopiedMax = 16 << 20;

    /// <summary>Elements of a large value, or so much as they cost, until what was written goes to the file.</summary>
    private const long WorkPerPiece = 4096;

    private readonly RdbValueWriter _writer = new(store) { CountsFirst = true };
    private ulong _sum;

    /// <summary>Bytes that the file has got.</summary>
    public long Bytes { get; private set; }

    /// <summary>Keys that have been written.</summary>
    public long Keys { get; private set; }

    private RdbOutput Output => _writer.Output;

    /// <summary>Begins the file.</summary>
    /// <param name="hasFieldExpiries">Whether fields of hashes expire, which only Redis 7.4 reads.</param>
    public void Begin(bool hasFieldExpiries)
    {
        Output.Begin(compresses, RdbOutput.BufferBytes);
        Output.Write(Encoding.ASCII.GetBytes($"REDIS{(hasFieldExpiries ? VersionOfExpiry : Version):D4}"));
    }

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
        Drain();
    }

    /// <summary>The keys from here on are of this database.</summary>
    /// <param name="keys">About how many there are.</param>
    /// <param name="expiring">About how many of them expire.</param>
    public void BeginDatabase(int number, long keys, long expiring)
    {
        Output.WriteByte((byte)RdbOpcode.Database);
        Output.WriteLength((ulong)number);
        Output.WriteByte((byte)RdbOpcode.Sizes);
        Output.WriteLength((ulong)keys);
        Output.WriteLength((ulong)expiring);
    }

    /// <summary>Writes a key and its value.</summary>
    /// <param name="use">How much it was used.</param>
    public void Write(ReadOnlySpan<byte> key, in ValueView value, RdbUse use)
    {
        if (Output.Length >= PieceBytes) Drain();
        if (value.ExpiryMs != NewValue.NoExpiry)
        {
            Output.WriteByte((byte)RdbOpcode.ExpiryMs);
            Output.WriteInt64(value.ExpiryMs);
        }

        if (use.IdleSeconds is { } idle)
        {
            Output.WriteByte((byte)RdbOpcode.Idle);
            Output.WriteLength((ulong)idle);
        }

        if (use.Frequency is { } frequency)
        {
            Output.WriteByte((byte)RdbOpcode.Frequency);
            Output.WriteByte((byte)frequency);
        }

        Output.WriteByte((byte)RdbValueWriter.TypeOf(value));
        Output.WriteString(key);
        if (value.Kind == ValueKind.String && value.Bytes.Length > CopiedMax)
        {
            Output.WriteLength((ulong)value.Bytes.Length);
            Drain();
            Put(value.Bytes);
        }
        else
        {
            // Ends: each round writes a piece.
            while (!_writer.WriteContent(value, WorkPerPiece))
                if (Output.IsBetweenStrings) Drain();
            Check();
        }

        Keys++;
    }

    /// <summary>Ends the file. Its bytes are all written to the stream, which is not flushed.</summary>
    public void End()
    {
        Output.WriteByte((byte)RdbOpcode.End);
        Drain();
        Span<byte> sum = stackalloc byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(sum, _sum);
        Put(sum);
    }

    public void Dispose() => _writer.Dispose();

    /// <summary>Has the file take what was written.</summary>
    private void Drain()
    {
        Check();
        Put(Output.Written);
        Output.Drain();
    }

    private void Put(ReadOnlySpan<byte> bytes)
    {
        Fault.Point("rdb.write");
        if (isSummed) _sum = Crc64.Append(_sum, bytes);
        file.Write(bytes);
        Bytes += bytes.Length;
    }

    private void Check()
    {
        if (Output.Status == StoreStatus.Ok) return;
        throw new RdbFileException(Output.Status == StoreStatus.OutOfMemory
            ? "The system has no memory for the piece of a value that is written"
            : $"An element is longer than {Store.ValueBytesMax >> 20} MB together with what stands before it");
    }
}

/// <summary>How much a key was used, as RDB files say it: for policies that go by either.</summary>
/// <param name="Frequency">Of 255; null: not said.</param>
/// <param name="IdleSeconds">Since it was last used; null: not said.</param>
internal readonly record struct RdbUse(int? Frequency, long? IdleSeconds);
