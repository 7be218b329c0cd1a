using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes a part of a string into the reply.</summary>
internal struct ReplyStringRange(SessionOutput output, StoreSession store) : IValueRead
{
    /// <summary>A longer part is sent from its block: else up to 512 MB would be copied in one turn.</summary>
    private const int CopiedMax = 64 * 1024;

    private readonly ReplyMark _mark = output.Reply.Mark();
    private Block _block;

    public long First;
    public long Last;

    public void Read(in ValueView value)
    {
        Forget();
        if (value.Kind == ValueKind.BlockString)
        {
            // Up to 512 MB, which must not be copied again because of a writer: copied later, from a reference.
            // None if a writer came in between: then Read is called again.
            _block = value.Block;
            if (!_block.IsNone) _block.AddReference();
        }
        else if (value.Kind == ValueKind.Integer)
        {
            Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
            output.Reply.WriteBulk(Range(digits[..NumberText.FormatInt64(value.Integer, digits)]));
        }
        else
        {
            output.Reply.WriteBulk(Range(value.Bytes));
        }
    }

    public void CopyFromBlock()
    {
        if (_block.IsNone) return;
        var block = _block;
        _block = default;
        var (first, length) = PartOf((int)block.Length);
        Debug.Assert(first >= 0 && length >= 0 && first + (long)length <= block.Length, "a range is within its string");
        if (length > CopiedMax)
        {
            output.WriteBlock(output.Reply, block, first, length);
        }
        else
        {
            output.Reply.WriteBulk(block.Span.Slice(first, length));
            store.Release(block);
        }
    }

    public void Forget()
    {
        output.Rewind(_mark);
        if (_block.IsNone) return;
        store.Release(_block);
        _block = default;
    }

    // Redis' rule: a position before the start is the start, also for the last byte; but if both are negative and in
    // the wrong order, the range is empty.
    private readonly (int First, int Length) PartOf(int length)
    {
        Debug.Assert(length >= 0, "a string has a length");
        if (First < 0 && Last < 0 && First > Last) return default;
        long first = Math.Max(0, First < 0 ? First + length : First);
        long last = Math.Min(length - 1, Math.Max(0, Last < 0 ? Last + length : Last));
        return first > last ? default : ((int)first, (int)(last + 1 - first));
    }

    private readonly ReadOnlySpan<byte> Range(ReadOnlySpan<byte> text)
    {
        var (first, length) = PartOf(text.Length);
        return text.Slice(first, length);
    }
}
