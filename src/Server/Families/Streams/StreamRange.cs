using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Ids from one to another, both included.</summary>
internal struct StreamRange
{
    public StreamId First, Last;

    /// <summary>Reads both ends; what is wrong is remembered by the arguments.</summary>
    public bool TryRead(ref CommandArguments arguments, ReadOnlySpan<byte> first, ReadOnlySpan<byte> last) =>
        TryReadFirst(ref arguments, first) && TryReadLast(ref arguments, last);

    /// <summary>Reads where it begins.</summary>
    public bool TryReadFirst(ref CommandArguments arguments, ReadOnlySpan<byte> text)
    {
        if (!StreamIdText.TryParseEnd(text, 0, out First, out bool isExclusive)) arguments.Fail(StreamIdText.Invalid);
        else if (isExclusive && !First.TryNext(out First)) arguments.Fail("ERR invalid start ID for the interval"u8);
        return !arguments.Failed;
    }

    private bool TryReadLast(ref CommandArguments arguments, ReadOnlySpan<byte> text)
    {
        if (!StreamIdText.TryParseEnd(text, ulong.MaxValue, out Last, out bool isExclusive))
            arguments.Fail(StreamIdText.Invalid);
        else if (isExclusive && !Last.TryPrevious(out Last)) arguments.Fail("ERR invalid end ID for the interval"u8);
        return !arguments.Failed;
    }
}
