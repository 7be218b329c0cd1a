using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Patterns;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Collects the keys of a database that match, some buckets a step: KEYS and SCAN.</summary>
/// <remarks>
/// The keys are collected apart from the session's output, because their number comes before them and other sessions'
/// replies come in between. What is collected is charged to the store and bounded by max-reply-bytes.
/// </remarks>
internal sealed class KeyWalk : ICommandSteps, IDisposable
{
    /// <summary>Most keys, and most buckets, visited in one step: some 100 us.</summary>
    private const int VisitsPerStep = 1024;

    /// <summary>Bytes of the reply written in one step.</summary>
    private const int ReplyBytesPerStep = 1 << 20;

    /// <summary>A call of SCAN that meets only empty buckets ends after this many for each key that it was to
    /// visit.</summary>
    private const long BucketsPerKey = 10;

    /// <summary>A call of SCAN visits at least this many buckets. The smallest index has 1,024, so a small database is
    /// done in one call.</summary>
    private const long BucketsMin = 1024;

    private readonly ReplyWriter _keys;
    private readonly Store _store;
    private readonly bool _repliesCursor;
    private byte[]? _pattern;       // null: every key; an empty one matches the empty key alone
    private bool _filtersType;
    private DataType _type;
    private ulong _cursor;
    private long _visitsLeft;
    private long _bucketsLeft;
    private long _chargedBytes;
    private int _found;
    private bool _replies;
    private int _replied;

    /// <param name="context">The command's.</param>
    /// <param name="cursor">Where to begin.</param>
    /// <param name="count">Keys to visit at least, matching or not, if there are as many.</param>
    /// <param name="repliesCursor">As SCAN does: the reply is the cursor and the keys.</param>
    public KeyWalk(ref CommandContext context, ulong cursor, long count, bool repliesCursor)
    {
        Debug.Assert(count > 0, "a walk visits something");
        _store = context.Server.Store;
        _cursor = cursor;
        _visitsLeft = count;
        _bucketsLeft = count > long.MaxValue / BucketsPerKey
            ? long.MaxValue : Math.Max(count * BucketsPerKey, BucketsMin);
        _repliesCursor = repliesCursor;
        _keys = new ReplyWriter(new OutputBuffer(initialBytes: 1024,
            source: ReplyMemory.Instance) { LimitBytes = LimitOf(context.Server.Options.MaxReplyBytes) });
    }

    /// <summary>Only keys that match a glob pattern.</summary>
    public void Match(ReadOnlySpan<byte> pattern) => _pattern = pattern.SequenceEqual("*"u8) ? null : pattern.ToArray();

    /// <summary>Only keys of values of a type; of none, when no type has that name.</summary>
    public void OnlyOf(ReadOnlySpan<byte> typeName)
    {
        _filtersType = true;
        _type = DataType.Any;
        foreach (var type in Enum.GetValues<DataType>())
            if (type != DataType.Any && System.Text.Ascii.EqualsIgnoreCase(DataTypeName.Of(type), typeName))
                _type = type;
    }

    /// <summary>Takes the first step, and leaves the others to later turns.</summary>
    public void Run(ref CommandContext context)
    {
        if (!Step(ref context)) context.Continue(this);
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        try
        {
            if (!_replies)
            {
                if (!Walk(context.Store)) return false;
                BeginReply(context.Reply);
            }

            if (!ContinueReply(context.Reply)) return false;
        }
        catch
        {
            Dispose();
            throw;
        }

        Dispose();
        return true;
    }

    /// <summary>Gives back what was collected; also when the client is gone before the end.</summary>
    public void Dispose()
    {
        _keys.Dispose();
        _store.Charge(-_chargedBytes);
        _chargedBytes = 0;
    }

    private static int LimitOf(long maxReplyBytes) => (int)Math.Min(maxReplyBytes, OutputBuffer.BytesMax);

    private bool Walk(StoreSession store)
    {
        var visit = new Collect(_keys, _pattern, _filtersType, _type);
        int buckets = 0;
        // Half a millisecond: keys may be long, and patterns slow to compare.
        long endTicks = Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 2000);
        do
        {
            _cursor = store.Scan(_cursor, ref visit);
            buckets++;
        }
        while (_cursor != 0 && visit.Visited < Math.Min(_visitsLeft, VisitsPerStep)
            && buckets < Math.Min(_bucketsLeft, VisitsPerStep)
            && (_pattern == null || Stopwatch.GetTimestamp() < endTicks));

        _found += visit.Found;
        _visitsLeft -= visit.Visited;
        _bucketsLeft -= buckets;
        long growth = _keys.Output.CapacityBytes - _chargedBytes;
        _store.Charge(growth);
        _chargedBytes += growth;
        Debug.Assert(_chargedBytes >= 0, "what the keys take is charged once");
        return _cursor == 0 || _visitsLeft <= 0 || _bucketsLeft <= 0;
    }

    private void BeginReply(ReplyWriter reply)
    {
        Debug.Assert(!_replies && _keys.Owed == -_found,
            "each key that was found is written, and the reply begins once");
        _replies = true;
        if (_repliesCursor) ScanArguments.WriteCursor(reply, _cursor);

        reply.WriteArray(_found);
    }

    /// <summary>Passes on a part of what was collected; the last part pays for all keys.</summary>
    private bool ContinueReply(ReplyWriter reply)
    {
        Debug.Assert(_replies && _replied <= _keys.Output.Length,
            "the reply has begun, and nothing of it is sent twice");
        var rest = _keys.Output.Span[_replied..];
        bool isLast = rest.Length <= ReplyBytesPerStep;
        if (!isLast) rest = rest[..ReplyBytesPerStep];
        reply.WriteRaw(rest, isLast ? _found : 0);
        _replied += rest.Length;
        return isLast;
    }

    /// <summary>Writes the keys that match, as bulks.</summary>
    private struct Collect(ReplyWriter keys, byte[]? pattern, bool filtersType, DataType type) : IRecordVisit
    {
        public int Visited;
        public int Found;

        public void Visit(ReadOnlySpan<byte> key, in ValueView value)
        {
            Visited++;
            if (filtersType && (type == DataType.Any || value.Type != type)) return;
            if (pattern != null && !GlobPattern.IsMatch(pattern, key)) return;
            keys.WriteBulk(key);
            Found++;
        }
    }
}
