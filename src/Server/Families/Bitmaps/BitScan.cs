using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Counts bits of a string, or finds one: BITCOUNT and BITPOS.</summary>
/// <remarks>Up to 1 MB at once, straight from the record; longer strings by reference, in steps.</remarks>
internal struct BitScan(StoreSession session) : IValueRead
{
    private const int BytesPerStep = 1024 * 1024;

    private Block _block;
    private long _result;

    /// <summary>Where to begin and to end, both included, in bytes or bits; negative ones count from the end.</summary>
    public long First { get; set; }

    public long Last { get; set; } = -1;

    public bool IsBits { get; set; }

    public bool HasEnd { get; set; }

    /// <summary>Find <see cref="Bit"/> instead of counting ones.</summary>
    public bool Finds { get; set; }

    public bool Bit { get; set; }

    /// <summary>Answers, at once or in later turns.</summary>
    public void Run(ref CommandContext context, in Key key)
    {
        var status = context.Store.Read(key, DataType.String, ref this);
        if (status != StoreStatus.Ok)
        {
            Forget();
            // An absent key: no ones, and zeros wherever one looks.
            if (context.TryBegin(status)) context.Reply.WriteInteger(Finds && Bit ? -1 : 0);
        }
        else if (!_block.IsNone)
        {
            context.Continue(new Steps(this));
        }
        else
        {
            context.Reply.WriteInteger(_result);
        }
    }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        Forget();
        if (value.Kind == ValueKind.Integer)
        {
            Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
            Scan(digits[..NumberText.FormatInt64(value.Integer, digits)]);
            return;
        }

        ReadOnlySpan<byte> text = value.Bytes;
        if (text.Length <= BytesPerStep)
        {
            Scan(text);
            return;
        }

        // None where a writer came in between: then this is read again.
        _block = value.Block;
        if (!_block.IsNone) _block.AddReference();
    }

    private void Forget()
    {
        if (!_block.IsNone) session.Release(_block);
        _block = default;
    }

    private void Scan(ReadOnlySpan<byte> text)
    {
        if (!TryResolve(text.Length, out long first, out long last)) _result = Finds ? -1 : 0;
        else if (Finds) _result = Found(Bitmap.Find(text, Bit, first, last), text.Length);
        else _result = Bitmap.Count(text, first, last);
    }

    /// <summary>Without an end the zeros that follow the string count as found.</summary>
    private readonly long Found(long bit, long bytes) => bit < 0 && !Bit && !HasEnd ? bytes * 8 : bit;

    /// <summary>The range as bits inside of the string. False: it is empty.</summary>
    private readonly bool TryResolve(long bytes, out long firstBit, out long lastBit)
    {
        long total = IsBits ? bytes * 8 : bytes;
        long first = First < 0 ? Math.Max(0, First + total) : First;
        long last = Math.Min(total - 1, Last < 0 ? Math.Max(0, Last + total) : Last);
        firstBit = IsBits ? first : first * 8;
        lastBit = IsBits ? last : (last * 8) + 7;
        Debug.Assert(first > last || (firstBit >= 0 && lastBit < bytes * 8), "a range is resolved within the string");
        // Two that are both negative and in the wrong order are empty as they stand (BITCOUNT's rule).
        return first <= last && (Finds || First >= 0 || Last >= 0 || First <= Last);
    }

    private sealed class Steps : ICommandSteps, IDisposable
    {
        private readonly long _last;
        private BitScan _scan;
        private long _at;
        private bool _empty;

        public Steps(in BitScan scan)
        {
            _scan = scan;
            _empty = !scan.TryResolve(scan._block.Length, out _at, out _last);
            _scan._result = _empty && scan.Finds ? -1 : 0;
        }

        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            Debug.Assert(_empty || _at <= _last, "each step looks at something");
            ReadOnlySpan<byte> text = _scan._block.Span;
            if (!_empty)
            {
                // Steps end at whole bytes, so that only the first and the last one have bits to leave out.
                long end = Math.Min(_last, ((_at >> 3) + BytesPerStep) * 8 - 1);
                if (_scan.Finds) _scan._result = Bitmap.Find(text, _scan.Bit, _at, end);
                else _scan._result += Bitmap.Count(text, _at, end);
                _at = end + 1;
                if (_at <= _last && !(_scan.Finds && _scan._result >= 0)) return false;
                if (_scan.Finds) _scan._result = _scan.Found(_scan._result, text.Length);
            }

            context.Reply.WriteInteger(_scan._result);
            Dispose();
            return true;
        }

        public void Dispose()
        {
            _scan.Forget();
            _empty = true;
        }
    }
}
