using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Protocol;
using Kv.Server.Effects;

namespace Kv.Server.Persistence.Aof;

/// <summary>Takes a file apart: into whole commands, transactions whole, groups compared with their sums.</summary>
/// <remarks>Threads: one at a time. Memory: some MB, or what the longest command, transaction or group takes.</remarks>
/// <param name="file">At <paramref name="offset"/>.</param>
/// <param name="length">Bytes of the file.</param>
/// <param name="sum">What the sum begins with.</param>
/// <param name="databases">Databases that there are.</param>
internal sealed class AofReader(Stream file, long offset, long length, uint sum, AofKinds kinds, int databases,
    int chunkBytes = AofReader.ChunkBytes)
{
    /// <summary>A megabyte with all that an array of a pool has.</summary>
    private const int ChunkBytes = (1 << 20) - CommandParser.PaddingBytes;

    /// <summary>One is read, some wait (<see cref="AofLoader"/>), one is run, and one has what was left over.</summary>
    private const int ChunksMost = 8;

    /// <summary>The longest line between commands that Redis reads.</summary>
    private const int LineBytesMax = 1024;

    private const int ChunkBytesMax = int.MaxValue - (1 << 20);

    // Its own: what the process' pool is given back stays alive for a minute or more, and so counts as used. 16 MB of
    // it evicted as many keys after a start.
    private readonly ArrayPool<byte> _pool = ArrayPool<byte>.Create(1 << 20, ChunksMost);
    private AofChunk? _rest;
    private int _restAt;
    private bool _afterGroup = true;

    /// <summary>Null, or why <see cref="Next"/> ended before the file did.</summary>
    public AofDamage? Damage { get; private set; }

    /// <summary>Everything before was read, and is whole.</summary>
    public long Position { get; private set; } = offset;

    /// <summary>The sum of the commands up to there.</summary>
    public uint Sum { get; private set; } = sum;

    /// <summary>Whether there were groups with sums.</summary>
    public bool HasGroups { get; private set; }

    /// <summary>Up to here the file was on the disk when its groups were written.</summary>
    public long Durable { get; private set; }

    /// <summary>The next commands.</summary>
    /// <returns>Null at the end, or at <see cref="Damage"/>. The caller returns it to the pool.</returns>
    public AofChunk? Next()
    {
        int capacity = chunkBytes;
        while (Damage == null && Position < length)
        {
            var chunk = Fill(capacity);
            int used = Split(chunk, isAll: chunk.Offset + chunk.Length >= length, out bool isCut);
            Position = chunk.Offset + used;
            Debug.Assert(used >= 0 && Position <= length, "what was read is in the file");
            Keep(chunk, used);
            if (used > 0 || !isCut) return chunk;
            chunk.Return();
            if (Damage != null) return null;
            if (capacity == ChunkBytesMax) Fail(chunk.Offset, "more than 2 GB that belong together", isCut: false);
            // Ends: it doubles up to the most.
            capacity = (int)Math.Min(2L * capacity, ChunkBytesMax);
        }

        _rest?.Return();
        _rest = null;
        return null;
    }

    /// <summary>A chunk with what is left of the last one, and more of the file.</summary>
    private AofChunk Fill(int capacity)
    {
        int left = _rest == null ? 0 : _rest.Length - _restAt;
        Debug.Assert(_rest == null || _rest.Offset + _restAt == Position, "what is left over comes next");
        int wanted = (int)Math.Min(Math.Max(capacity, left), Math.Max(length - Position, left));
        var chunk = AofChunk.Rent(_pool, wanted, Position);
        if (_rest != null)
        {
            _rest.Bytes.AsSpan(_restAt, left).CopyTo(chunk.Bytes);
            _rest.Return();
            _rest = null;
        }

        chunk.Length = left;
        // Ends: each round reads some.
        while (chunk.Length < chunk.Capacity && chunk.Offset + chunk.Length < length)
        {
            int most = (int)Math.Min(chunk.Capacity - chunk.Length, length - chunk.Offset - chunk.Length);
            int read = file.Read(chunk.Bytes, chunk.Length, most);
            if (read == 0) throw new IOException("the file has become shorter while it was read");
            chunk.Length += read;
        }

        return chunk;
    }

    /// <summary>Keeps what has not been used for the next chunk.</summary>
    private void Keep(AofChunk chunk, int used)
    {
        int left = chunk.Length - used;
        if (left == 0 || Damage != null) return;
        _rest = AofChunk.Rent(_pool, left, chunk.Offset + used);
        chunk.Bytes.AsSpan(used, left).CopyTo(_rest.Bytes);
        (_rest.Length, _restAt) = (left, 0);
    }

    /// <summary>Finds what is whole.</summary>
    /// <returns>How many bytes are.</returns>
    private int Split(AofChunk chunk, bool isAll, out bool isCut)
    {
        int at = 0;
        while (at < chunk.Length)
        {
            var mark = chunk.Mark();
            int unit = 0;
            var status = ReadUnit(chunk, at, ref unit, out string what);
            if (status == CommandFrameStatus.Whole)
            {
                at += unit;
                continue;
            }

            chunk.Rewind(mark);
            if (status == CommandFrameStatus.Bad || isAll)
                Fail(chunk.Offset + at, what, isCut: status == CommandFrameStatus.Cut);
            isCut = true;
            return at;
        }

        isCut = false;
        return at;
    }

    /// <summary>Reads a group, a line, a command, or a transaction.</summary>
    /// <param name="length">How long it is.</param>
    private CommandFrameStatus ReadUnit(AofChunk chunk, int at, ref int unit, out string what)
    {
        var bytes = chunk.Bytes.AsSpan(at, chunk.Length - at);
        what = "the file ends in the middle of it";
        if (bytes[0] == '#')
        {
            var status = ReadLine(bytes, out unit);
            if (status != CommandFrameStatus.Whole)
            {
                if (status == CommandFrameStatus.Bad) what = "a line that is no comment";
                return status;
            }

            var line = bytes[..unit];
            if (line.StartsWith(AofGroup.Prefix) || line.Length == AofGroup.LineBytes && !IsTime(line))
                return ReadGroup(chunk, at, ref unit, out what);
            if (HasGroups && !IsTime(line))
            {
                what = "a line that is no group's";
                return CommandFrameStatus.Bad;
            }
        }
        else
        {
            var status = ReadTransaction(chunk, at, chunk.Length, ref unit, ref what);
            if (status != CommandFrameStatus.Whole) return status;
            _afterGroup = false;
        }

        Sum = AofSum.Add(Sum, bytes[..unit]);
        return CommandFrameStatus.Whole;
    }

    private CommandFrameStatus ReadGroup(AofChunk chunk, int at, ref int unit, out string what)
    {
        var bytes = chunk.Bytes.AsSpan(at, chunk.Length - at);
        what = "the line of a group that is damaged";
        if (!AofGroup.TryRead(bytes, out var group)) return CommandFrameStatus.Bad;
        what = $"a group that belongs to offset {group.Position}";
        if (group.Position != chunk.Offset + at) return CommandFrameStatus.Bad;
        what = "the file ends in the middle of it";
        if (group.Length > bytes.Length - AofGroup.LineBytes) return CommandFrameStatus.Cut;
        unit = AofGroup.LineBytes + (int)group.Length;
        what = "the checksum of the commands is another one";
        uint sum = AofSum.Add(Sum, bytes[AofGroup.LineBytes..unit]);
        if (sum != group.Sum) return CommandFrameStatus.Bad;
        int from = at + AofGroup.LineBytes, end = at + unit;
        while (from < end)
        {
            int length = 0;
            var status = chunk.Bytes[from] == '#' ? ReadLine(chunk.Bytes.AsSpan(from, end - from), out length)
                : ReadTransaction(chunk, from, end, ref length, ref what);
            if (status != CommandFrameStatus.Whole) return CommandFrameStatus.Bad;
            from += length;
        }

        (Sum, HasGroups, _afterGroup) = (sum, true, true);
        Durable = Math.Max(Durable, group.DurableHere);
        return CommandFrameStatus.Whole;
    }

    private static CommandFrameStatus ReadLine(ReadOnlySpan<byte> bytes, out int length)
    {
        length = bytes[..Math.Min(bytes.Length, LineBytesMax)].IndexOf((byte)'\n') + 1;
        return length > 0 ? CommandFrameStatus.Whole
            : bytes.Length >= LineBytesMax ? CommandFrameStatus.Bad : CommandFrameStatus.Cut;
    }

    private static bool IsTime(ReadOnlySpan<byte> line) => line.StartsWith("#TS:"u8);

    /// <summary>Reads a command, or all from MULTI to EXEC.</summary>
    private CommandFrameStatus ReadTransaction(AofChunk chunk, int at, int end, ref int unit, ref string what)
    {
        int from = at;
        bool isOpen = false;
        do
        {
            // A line between the commands of a transaction.
            if (isOpen && from < end && chunk.Bytes[from] == '#')
            {
                var lineStatus = ReadLine(chunk.Bytes.AsSpan(from, end - from), out int line);
                if (lineStatus != CommandFrameStatus.Whole) return lineStatus;
                from += line;
                continue;
            }

            var frame = new CommandFrame(chunk.Bytes.AsSpan(from, end - from));
            var status = frame.Read();
            if (status == CommandFrameStatus.Bad) what = "no command";
            if (status != CommandFrameStatus.Whole) return status;
            if (kinds.Of(frame[0]) is not { } kind)
            {
                what = $"the unknown command '{Printable(frame[0])}'";
                return CommandFrameStatus.Bad;
            }

            if (!IsAllowed(kind, frame, isOpen, ref what)) return CommandFrameStatus.Bad;
            if (kind == AofKind.Begin) isOpen = true;
            else if (kind == AofKind.End) isOpen = false;
            else Add(chunk, from, kind, frame);
            from += frame.Length;
        }
        while (isOpen);
        unit = from - at;
        return CommandFrameStatus.Whole;
    }

    private static void Add(AofChunk chunk, int from, AofKind kind, in CommandFrame frame)
    {
        kind = AofKinds.Decide(kind, frame);
        chunk.Add(from, frame.Length, kind == AofKind.Select ? AofKind.Plain : kind);
    }

    private bool IsAllowed(AofKind kind, in CommandFrame frame, bool isOpen, ref string what)
    {
        if (kind == AofKind.Begin && isOpen) what = "MULTI in MULTI";
        else if (kind == AofKind.End && !isOpen) what = "EXEC without MULTI";
        else if (kind == AofKind.Select && !HasDatabase(frame, out string number))
            what = $"database {number}: start with --databases of more than {databases}";
        else return true;
        return false;
    }

    private bool HasDatabase(in CommandFrame frame, out string number)
    {
        number = frame.Arguments == 2 ? Printable(frame[1]) : "";
        return int.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out int value)
            && value < databases;
    }

    private void Fail(long position, string what, bool isCut) =>
        Damage = new AofDamage(position, what, isCut, _afterGroup);

    private static string Printable(ReadOnlySpan<byte> text)
    {
        const int shownMax = 64;
        var shown = new StringBuilder();
        foreach (byte value in text[..Math.Min(text.Length, shownMax)])
            shown.Append(value is >= 0x20 and < 0x7F ? (char)value : '?');
        return shown.ToString();
    }
}
