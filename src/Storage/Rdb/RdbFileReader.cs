using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;

namespace Kv.Storage;

//    file    |==== read =======================================|---- not read yet ----|
//    buffer               |  done  |  item  | next items ...   |  free   |
//                                  at                          end       capacity
//
//  An item is a key with its value, or what stands between keys. One that does not end in the buffer is read anew once
//  there is more of it: the buffer moves up to it, and grows when the item alone fills it.

/// <summary>Reads RDB files of Redis 1 to 7.4 (drawn above <see cref="RdbOpcode"/>), which nobody vouches
/// for.</summary>
/// <remarks>
/// Whatever is not right ends it with a <see cref="RdbFileException"/> that says where; the sink has what came before.
/// Memory: the buffer, of some MB or as long as the longest value is in the file. Threads: one at a time.
/// </remarks>
/// <param name="store">Whose memory, limits and hash are used.</param>
/// <param name="file">From its first byte; the caller's.</param>
/// <param name="isChecked">Whether the file's checksum is compared.</param>
/// <param name="bufferBytes">How much is read at once.</param>
internal sealed unsafe class RdbFileReader(Store store, Stream file, bool isChecked, int bufferBytes = 8 << 20)
    : IDisposable
{
    private const string Magic = "REDIS";
    private const int HeaderBytes = 9, VersionWithSum = 5;

    private byte* _buffer;
    private long _capacity, _at, _end, _read;
    private bool _hasAll;
    private ulong _sum;
    private RdbScratch _name, _text;
    private RdbKeysAhead _ahead;
    private int _database;
    private long _expiryMs = NewValue.NoExpiry;
    private int? _frequency;
    private long? _idleSeconds;

    /// <summary>The version of the format.</summary>
    public int Version { get; private set; }

    /// <summary>Bytes that have been read and understood.</summary>
    public long Position => _read - (_end - _at);

    private long Unread => _end - _at;

    /// <summary>Reads all of it.</summary>
    /// <exception cref="RdbFileException">Something is wrong, or cannot be taken.</exception>
    /// <exception cref="IOException">The file cannot be read.</exception>
    public void Read(IRdbSink sink)
    {
        ReadHeader();
        // Ends: each round goes on in the file, or reads more of it; a file ends.
        while (true)
        {
            _ahead.Look(_buffer + _at, Unread, Position, store.Budget, sink);
            var input = new RdbInput(_buffer + _at, (int)Math.Min(Unread, int.MaxValue), store.Budget,
                Store.ValueBytesMax);
            var status = ReadItem(ref input, sink, out bool isEnd);
            if (status == RdbStatus.Ok)
            {
                Pass(input.Position);
                if (!isEnd) continue;
                ReadSum();
                return;
            }

            if (status != RdbStatus.BadData || !TryReadMore()) throw Failed(status);
        }
    }

    public void Dispose()
    {
        _name.Dispose();
        _text.Dispose();
        if (_buffer == null) return;
        NativeMemory.Free(_buffer);
        store.Budget.ChargeExternal(-_capacity);
        _buffer = null;
    }

    private void ReadHeader()
    {
        // Ends: the file does, or the header is there.
        while (Unread < HeaderBytes && TryReadMore())
        {
        }

        var header = new ReadOnlySpan<byte>(_buffer + _at, (int)Math.Min(Unread, HeaderBytes));
        bool isNumber = int.TryParse(header.Length < HeaderBytes ? default : header[Magic.Length..],
            NumberStyles.None, CultureInfo.InvariantCulture, out int version);
        if (!isNumber || !header.StartsWith(Encoding.ASCII.GetBytes(Magic)))
            throw new RdbFileException("it does not begin as an RDB file does; move it away, or name another "
                + "dbfilename");
        if (version is < 1 or > DumpPayload.VersionMax)
            throw new RdbFileException($"it is of version {version} of the format, and 1 to {DumpPayload.VersionMax} "
                + "can be read; have a server of Redis 7.4 or older write it");
        Version = version;
        Pass(HeaderBytes);
    }

    /// <summary>Compares the sum at the end. What may come after it is no part of the file.</summary>
    private void ReadSum()
    {
        if (Version < VersionWithSum) return;
        // Ends: the file does, or the sum is there.
        while (Unread < sizeof(ulong) && TryReadMore())
        {
        }

        if (Unread < sizeof(ulong)) throw Failed(RdbStatus.BadData);
        ulong written = System.Buffers.Binary.BinaryPrimitives.ReadUInt64LittleEndian(
            new ReadOnlySpan<byte>(_buffer + _at, sizeof(ulong)));
        if (isChecked && written != 0 && written != _sum)
            throw new RdbFileException("its checksum is not that of its bytes: it was damaged. Take another copy, or "
                + "start with --rdbchecksum no to load what it has");
        _at += sizeof(ulong);
    }

    /// <summary>What was read is done with.</summary>
    private void Pass(int bytes)
    {
        Debug.Assert(bytes <= Unread, "no more is passed than is there");
        if (isChecked) _sum = Crc64.Append(_sum, new ReadOnlySpan<byte>(_buffer + _at, bytes));
        _at += bytes;
    }

    /// <returns>False: the file has no more, or the item is longer than can be.</returns>
    private bool TryReadMore()
    {
        if (_hasAll || Unread >= int.MaxValue) return false;
        long unread = Unread, capacity = _capacity == 0 ? bufferBytes
            : unread > _capacity / 2 ? Math.Min(_capacity * 2, int.MaxValue) : _capacity;
        if (capacity == _capacity)
        {
            Buffer.MemoryCopy(_buffer + _at, _buffer, unread, unread);
        }
        else
        {
            byte* larger = (byte*)NativeMemory.Alloc((nuint)capacity);
            Buffer.MemoryCopy(_buffer + _at, larger, unread, unread);
            NativeMemory.Free(_buffer);
            store.Budget.ChargeExternal(capacity - _capacity);
            _buffer = larger;
            _capacity = capacity;
        }

        _at = 0;
        _end = unread;
        int count = file.Read(new Span<byte>(_buffer + _end, (int)(_capacity - _end)));
        _hasAll = count == 0;
        _end += count;
        _read += count;
        return !_hasAll;
    }

    private RdbStatus ReadItem(ref RdbInput input, IRdbSink sink, out bool isEnd)
    {
        isEnd = false;
        if (!input.TryReadByte(out byte first)) return RdbStatus.BadData;
        switch ((RdbOpcode)first)
        {
            case RdbOpcode.End:
                isEnd = true;
                return RdbStatus.Ok;
            case RdbOpcode.Database:
                return ReadDatabase(ref input, sink);
            case RdbOpcode.Sizes:
                return ReadSizes(ref input, sink);
            case RdbOpcode.ExpiryMs:
                return input.TryReadInt64(out _expiryMs) ? RdbStatus.Ok : RdbStatus.BadData;
            case RdbOpcode.ExpirySeconds:
                if (!input.TryReadBytes(sizeof(int), out var seconds)) return RdbStatus.BadData;
                _expiryMs = 1000L * System.Buffers.Binary.BinaryPrimitives.ReadInt32LittleEndian(seconds);
                return RdbStatus.Ok;
            case RdbOpcode.Idle:
                return ReadIdle(ref input);
            case RdbOpcode.Frequency:
                if (!input.TryReadByte(out byte frequency)) return RdbStatus.BadData;
                _frequency = frequency;
                return RdbStatus.Ok;
            case RdbOpcode.Aux:
                return ReadTexts(ref input, sink, isPair: true);
            case RdbOpcode.Library:
                return ReadTexts(ref input, sink, isPair: false);
            case RdbOpcode.Slot:
                return input.TryReadLength(out _) && input.TryReadLength(out _) && input.TryReadLength(out _)
                    ? RdbStatus.Ok : RdbStatus.BadData;
            case RdbOpcode.ModuleAux or RdbOpcode.OldLibrary:
                return RdbStatus.Unknown;
            default:
                return ReadKey(ref input, (RdbType)first, sink);
        }
    }

    private RdbStatus ReadDatabase(ref RdbInput input, IRdbSink sink)
    {
        if (!input.TryReadLength(out long number)) return RdbStatus.BadData;
        if (number >= store.Options.Databases)
            throw new RdbFileException($"at byte {Position} it has keys of database {number}, and there are "
                + $"{store.Options.Databases}; start with --databases {number + 1}");
        _database = (int)number;
        sink.BeginDatabase(_database);
        return RdbStatus.Ok;
    }

    private static RdbStatus ReadSizes(ref RdbInput input, IRdbSink sink)
    {
        if (!input.TryReadLength(out long keys) || !input.TryReadLength(out _)) return RdbStatus.BadData;
        sink.Expect(keys);
        return RdbStatus.Ok;
    }

    private RdbStatus ReadIdle(ref RdbInput input)
    {
        if (!input.TryReadLength(out long seconds)) return RdbStatus.BadData;
        _idleSeconds = seconds;
        return RdbStatus.Ok;
    }

    private RdbStatus ReadTexts(ref RdbInput input, IRdbSink sink, bool isPair)
    {
        var status = input.ReadString(ref _name, out var first);
        if (status != RdbStatus.Ok) return status;
        if (!isPair)
        {
            sink.AddLibrary(first);
            return RdbStatus.Ok;
        }

        status = input.ReadString(ref _text, out var second);
        if (status == RdbStatus.Ok) sink.Note(first, second);
        return status;
    }

    private RdbStatus ReadKey(ref RdbInput input, RdbType type, IRdbSink sink)
    {
        if (type > RdbType.HashListpackExpiry) throw Failed(RdbStatus.Unknown);
        var status = input.ReadString(ref _name, out var key);
        if (status != RdbStatus.Ok) return status;
        if (key.Length > Store.KeyBytesMax)
            throw new RdbFileException($"at byte {Position} it has a key of {key.Length} bytes, and keys have at most "
                + $"{Store.KeyBytesMax}; give it another name where the file comes from");
        var value = new RdbValue(store);
        int start = input.Position;
        var reader = new RdbValueReader(_buffer + _at + start, input.Remaining, store, Store.ValueBytesMax)
        {
            IsUnbounded = true,
        };
        try
        {
            status = reader.Read(type, ref value);
            if (status != RdbStatus.Ok) return status;
            if (!sink.TryAdd(key, ref value, _expiryMs, new RdbUse(_frequency, _idleSeconds)))
                throw new RdbFileException($"at byte {Position} it has the key '{Shown(key)}' again; have the server "
                    + "that wrote it write it once more");
        }
        finally
        {
            value.Dispose();
            reader.Dispose();
        }

        input.TryReadBytes(reader.Position, out _);
        _ahead.Pass();
        _expiryMs = NewValue.NoExpiry;
        _frequency = null;
        _idleSeconds = null;
        return RdbStatus.Ok;
    }

    private static string Shown(ReadOnlySpan<byte> key)
    {
        const int shownMax = 64;
        return Encoding.Latin1.GetString(key[..Math.Min(key.Length, shownMax)]).Replace('\n', '.').Replace('\r', '.');
    }

    private RdbFileException Failed(RdbStatus status) => new(status switch
    {
        RdbStatus.OutOfMemory => $"at byte {Position} is a value for which the system has no memory",
        RdbStatus.Unknown => $"at byte {Position} it has something of a module, or of a version that is not known; "
            + "remove it on the server that wrote the file, and have that write it once more",
        _ => _hasAll && Position == _read
            ? $"it ends at byte {Position}, before its end mark: it was cut off. Take another copy"
            : $"at byte {Position} is what is no key with its value: it was damaged or cut off. Take another copy",
    });
}
