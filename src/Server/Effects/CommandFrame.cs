using Kv.Protocol;

namespace Kv.Server.Effects;

/// <summary>What is found where a command should begin.</summary>
internal enum CommandFrameStatus : byte
{
    Whole,

    /// <summary>The bytes end before it does.</summary>
    Cut,

    /// <summary>It is no command.</summary>
    Bad,
}

/// <summary>Finds the ends of commands.</summary>
internal ref struct CommandFrame
{
    /// <summary>Header lines are short: a count or a length, without a sign.</summary>
    private const int DigitsMax = 10;

    /// <summary>Arguments whose places are kept: enough for the options that are looked for.</summary>
    private const int PlacesMax = 16;

    private readonly ReadOnlySpan<byte> _bytes;
    private Places _places;

    public CommandFrame(ReadOnlySpan<byte> bytes) => _bytes = bytes;

    /// <summary>Bytes of the command.</summary>
    public int Length { get; private set; }

    public int Arguments { get; private set; }

    /// <summary>One of the first <see cref="PlacesMax"/> arguments.</summary>
    public readonly ReadOnlySpan<byte> this[int argument]
    {
        get
        {
            int at = _places[argument];
            TryReadHeader(_bytes, ref at, RespType.Bulk, out int length);
            return _bytes.Slice(at, length);
        }
    }

    /// <summary>Whether one of the arguments from one on is a word; of the first sixteen.</summary>
    /// <param name="end">A word that ends the options.</param>
    public readonly bool Has(int from, ReadOnlySpan<byte> word, ReadOnlySpan<byte> end = default)
    {
        for (int i = from; i < Math.Min(Arguments, PlacesMax); i++)
        {
            if (System.Text.Ascii.EqualsIgnoreCase(this[i], word)) return true;
            if (!end.IsEmpty && System.Text.Ascii.EqualsIgnoreCase(this[i], end)) return false;
        }

        return false;
    }

    /// <summary>Looks for a command at the first byte.</summary>
    public CommandFrameStatus Read()
    {
        int at = 0;
        var status = TryReadHeader(_bytes, ref at, RespType.Array, out int count);
        if (status != CommandFrameStatus.Whole) return status;
        if (count < 1) return CommandFrameStatus.Bad;
        for (int i = 0; i < count; i++)
        {
            if (i < PlacesMax) _places[i] = at;
            status = TryReadHeader(_bytes, ref at, RespType.Bulk, out int length);
            if (status != CommandFrameStatus.Whole) return status;
            if (length > _bytes.Length - at - 2)
                return length > Kv.Storage.Store.ValueBytesMax ? CommandFrameStatus.Bad : CommandFrameStatus.Cut;
            at += length;
            if (_bytes[at] != '\r' || _bytes[at + 1] != '\n') return CommandFrameStatus.Bad;
            at += 2;
        }

        (Length, Arguments) = (at, count);
        return CommandFrameStatus.Whole;
    }

    private static CommandFrameStatus TryReadHeader(ReadOnlySpan<byte> bytes, ref int at, byte prefix, out int value)
    {
        value = 0;
        if (at >= bytes.Length) return CommandFrameStatus.Cut;
        if (bytes[at] != prefix) return CommandFrameStatus.Bad;
        long number = 0;
        int i = at + 1;
        for (; i < bytes.Length && (uint)(bytes[i] - '0') <= 9; i++)
        {
            if (i - at > DigitsMax) return CommandFrameStatus.Bad;
            number = (number * 10) + bytes[i] - '0';
        }

        if (i == at + 1 && i < bytes.Length || number > int.MaxValue) return CommandFrameStatus.Bad;
        if (i < bytes.Length && bytes[i] != '\r') return CommandFrameStatus.Bad;
        if (i + 1 < bytes.Length && bytes[i + 1] != '\n') return CommandFrameStatus.Bad;
        if (i + 1 >= bytes.Length) return CommandFrameStatus.Cut;
        value = (int)number;
        at = i + 2;
        return CommandFrameStatus.Whole;
    }

    [System.Runtime.CompilerServices.InlineArray(PlacesMax)]
    private struct Places
    {
        private int _first;
    }
}
