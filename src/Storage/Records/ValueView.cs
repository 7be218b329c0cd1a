using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>A value as a reader or an update sees it; valid only inside of the call that it was given to.</summary>
/// <remarks>Just the record's address and the word that was read: everything else is worked out when it is asked
/// for.</remarks>
public readonly unsafe ref struct ValueView
{
    private readonly byte* _record;
    private readonly ulong _word;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ValueView(byte* record, ulong word)
    {
        _record = record;
        _word = word;
    }

    /// <summary>False for an absent or expired key.</summary>
    public bool Exists => _record != null;

    /// <summary>How the value is held.</summary>
    public ValueKind Kind => RecordWord.Kind(_word);

    /// <summary>What clients see as its type.</summary>
    public DataType Type => ValueKinds.TypeOf(Kind);

    /// <summary>What <see cref="Frequency"/> goes up to.</summary>
    internal const int FrequencyMax = 255;

    /// <summary>How often the key is used, 0 to 255: a logarithm, about, and of meaning only where the policy counts
    /// it (<see cref="Store.CountsFrequency"/>).</summary>
    public int Frequency => RecordUse.Count(Use) * FrequencyMax / RecordUse.CountMax;

    /// <summary>What the record says of its use, see <see cref="RecordUse"/>.</summary>
    public int Use => RecordWord.Use(_word);

    /// <summary>Content of a string that is held as bytes (all kinds but <see cref="ValueKind.Integer"/>).</summary>
    public ReadOnlySpan<byte> Bytes
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Kind <= ValueKind.Integer
            ? new ReadOnlySpan<byte>(Record.ValueOf(_record, _word), RecordWord.ValueBytes(_word))
            : BytesSlow;
    }

    private ReadOnlySpan<byte> BytesSlow
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        get
        {
            byte* value = Record.ValueOf(_record, _word);
            if (Kind == ValueKind.GrowingString)
            {
                // A writer may change the length meanwhile: it is cut to the record's extent.
                uint length = Math.Min(Unsafe.ReadUnaligned<uint>(value),
                    (uint)RecordWord.ValueBytes(_word) - sizeof(uint));
                return new ReadOnlySpan<byte>(value + sizeof(uint), (int)length);
            }

            Block block = Block;
            return block.IsNone ? default : block.Span;
        }
    }

    /// <summary>Value of <see cref="ValueKind.Integer"/>.</summary>
    public long Integer
    {
        get
        {
            Debug.Assert(Kind == ValueKind.Integer, "the value is an integer");
            return Unsafe.ReadUnaligned<long>(Record.ValueOf(_record, _word));
        }
    }

    /// <summary>Unix milliseconds, or -1: none.</summary>
    public long ExpiryMs => Record.ExpiryOf(_record, _word);

    /// <summary>Bytes of the string's text, the digits of an integer included.</summary>
    public long StringLength => Kind == ValueKind.Integer ? DigitCount(Integer) : Bytes.Length;

    /// <summary>The block of a <see cref="ValueKind.BlockString"/>, else none. To send it without a copy take a
    /// reference (<see cref="Storage.Block.AddReference"/>) and give it back (<c>StoreSession.Release</c>), also when
    /// the read runs again.</summary>
    public Block Block
    {
        get
        {
            if (_record == null || !RecordWord.HoldsBlock(_word)) return default;
            Block block = Record.BlockOf(_record, _word);
            // A writer may be replacing the pointer, and half of each is no address: it is used only if the word is
            // still the same. The block itself stays for this epoch at least.
            Volatile.ReadBarrier();
            return RecordWord.Same(Record.ReadWord(_record), _word) ? block : default;
        }
    }

    /// <summary>The elements of a small collection.</summary>
    internal PackedRun Run
    {
        get
        {
            Debug.Assert(Kind is ValueKind.PackedHash or ValueKind.PackedSet or ValueKind.PackedSortedSet,
                "the value is a run");
            return new PackedRun(Record.ValueOf(_record, _word), RecordWord.ValueBytes(_word));
        }
    }

    /// <summary>A value that is held in the record, as bytes.</summary>
    internal byte* Content => Record.ValueOf(_record, _word);

    /// <summary>Bytes of <see cref="Content"/>.</summary>
    internal int ContentBytes => RecordWord.ValueBytes(_word);

    /// <summary>A small set of integers.</summary>
    internal IntegerSet IntegerSet
    {
        get
        {
            Debug.Assert(Kind == ValueKind.IntegerSet, "the value is an array of integers");
            return new IntegerSet(Record.ValueOf(_record, _word), RecordWord.ValueBytes(_word));
        }
    }

    /// <summary>The memory of a large collection: only for a reader that holds the lock, as it does whenever the value
    /// is one (<see cref="StoreSession.Read"/>), or that has stopped all others.</summary>
    internal Region Region
    {
        get
        {
            Debug.Assert(Exists, "there is a value");
            return Record.RegionOf(_record, _word);
        }
    }

    /// <summary>Bytes that key and value hold, with header and block.</summary>
    public long FootprintBytes
    {
        get
        {
            long bytes = RecordWord.Size(_word);
            if (RecordWord.KeyField(_word) == RecordWord.LongKey)
                bytes += Record.LongKeyBlock(_record, _word).ExtentBytes;
            if (RecordWord.HoldsRegion(_word)) return bytes + Region.ChargedBytes;
            Block block = Block;        // once: a second look may find none, when a writer comes in between
            return block.IsNone ? bytes : bytes + block.ExtentBytes;
        }
    }

    internal byte* RecordStart => _record;

    private static int DigitCount(long value)
    {
        int digits = value < 0 ? 2 : 1;
        // Ends: the number loses a digit each round.
        for (ulong rest = value < 0 ? 0UL - (ulong)value : (ulong)value; rest >= 10; rest /= 10) digits++;
        return digits;
    }
}
