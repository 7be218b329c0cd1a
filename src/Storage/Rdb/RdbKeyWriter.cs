using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Writes keys with their values as RDB files have them.</summary>
/// <remarks>
/// A large value is written in pieces: what is in memory is a piece, an element or a node of it. Nobody changes a value
/// while it is written. Threads: one at a time.
/// </remarks>
/// <param name="destination">Gets the bytes; the caller's.</param>
/// <param name="compresses">Whether strings are compressed.</param>
/// <param name="omitsFieldExpiries">See <see cref="RdbValueWriter.OmitsFieldExpiries"/>.</param>
internal sealed class RdbKeyWriter(Store store, IRdbTarget destination, bool compresses, bool omitsFieldExpiries)
    : IDisposable
{
    /// <summary>What is written goes to the destination once it is as much.</summary>
    private const int PieceBytes = 4096;

    /// <summary>Longer strings go to the destination from where they are.</summary>
    private const int CopiedMax = 16 << 20;

    /// <summary>Elements of a large value, or so much as they cost, until what was written goes to the
    /// destination.</summary>
    private const long WorkPerPiece = 4096;

    private const int NoDatabase = -1;

    private readonly RdbValueWriter _writer = new(store)
    {
        CountsFirst = true, OmitsFieldExpiries = omitsFieldExpiries,
    };

    private int _database = NoDatabase;
    private bool _isPartial;

    /// <summary>Where all else is written: bytes that come before the next key.</summary>
    public RdbOutput Output => _writer.Output;

    /// <summary>Keys that have been written.</summary>
    public long Keys { get; private set; }

    /// <summary>Begins: there is nothing yet.</summary>
    public void Begin()
    {
        Output.Begin(compresses, RdbOutput.BufferBytes);
        _database = NoDatabase;
    }

    /// <summary>The keys from here on are of this database.</summary>
    public void Select(int number)
    {
        Debug.Assert(number >= 0 && !_isPartial, "a key is written whole before another database");
        if (number == _database) return;
        _database = number;
        Output.WriteByte((byte)RdbOpcode.Database);
        Output.WriteLength((ulong)number);
    }

    /// <summary>Others have written to the destination: which database is selected there is not known.</summary>
    public void ForgetDatabase() => _database = NoDatabase;

    /// <summary>Writes a key and its value.</summary>
    /// <param name="use">How much it was used.</param>
    public void Write(ReadOnlySpan<byte> key, in ValueView value, RdbUse use)
    {
        if (value.Kind == ValueKind.String && value.Bytes.Length > CopiedMax)
        {
            WriteString(key, value.Bytes, value.ExpiryMs, use);
            return;
        }

        // Ends: each round writes a piece.
        while (!WriteSome(key, value, use)) Flush();
    }

    /// <summary>Writes a piece of a key and its value, from where it left off. Nothing else is written in
    /// between.</summary>
    /// <remarks>No string is left half way, so between two calls the value may move in memory.</remarks>
    /// <returns>True when it has ended.</returns>
    /// <inheritdoc cref="Write"/>
    public bool WriteSome(ReadOnlySpan<byte> key, in ValueView value, RdbUse use)
    {
        if (!_isPartial)
        {
            if (Output.Length >= PieceBytes) Flush();
            WriteHead(value.ExpiryMs, use);
            Output.WriteByte((byte)_writer.TypeOf(value));
            Output.WriteString(key);
        }

        // Ends: each round writes a piece.
        do _isPartial = !_writer.WriteContent(value, WorkPerPiece);
        while (_isPartial && !Output.IsBetweenStrings);
        Check();
        if (!_isPartial) Keys++;
        return !_isPartial;
    }

    /// <summary>Writes a key with a string.</summary>
    /// <inheritdoc cref="Write"/>
    public void WriteString(ReadOnlySpan<byte> key, ReadOnlySpan<byte> text, long expiryMs, RdbUse use)
    {
        Debug.Assert(!_isPartial, "a key is written whole before another one");
        if (Output.Length >= PieceBytes) Flush();
        WriteHead(expiryMs, use);
        Output.WriteByte((byte)RdbType.String);
        Output.WriteString(key);
        if (text.Length > CopiedMax) WriteLong(text);
        else Output.WriteString(text);
        Check();
        Keys++;
    }

    /// <summary>Has the destination take what was written.</summary>
    public void Flush()
    {
        Check();
        destination.Write(Output.Written);
        Output.Drain();
    }

    public void Dispose() => _writer.Dispose();

    private void WriteHead(long expiryMs, RdbUse use)
    {
        Debug.Assert(use.IdleSeconds is null or >= 0 && use.Frequency is null or (>= 0 and <= byte.MaxValue),
            "how much a key was used has its bounds");
        if (expiryMs != NewValue.NoExpiry)
        {
            Output.WriteByte((byte)RdbOpcode.ExpiryMs);
            Output.WriteInt64(expiryMs);
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
    }

    private void WriteLong(ReadOnlySpan<byte> text)
    {
        Output.WriteLength((ulong)text.Length);
        Flush();
        destination.Write(text);
    }

    private void Check()
    {
        if (Output.Status == StoreStatus.Ok) return;
        throw new RdbFileException(Output.Status == StoreStatus.OutOfMemory
            ? "The system has no memory for the piece of a value that is written"
            : $"An element is longer than {Store.ValueBytesMax >> 20} MB together with what stands before it");
    }
}
