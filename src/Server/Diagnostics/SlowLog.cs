using System.Diagnostics;
using System.Text;
using Kv.Protocol;
using Kv.Server.Configuration;

namespace Kv.Server.Diagnostics;

/// <summary>The commands that took longer than slowlog-log-slower-than, the last slowlog-max-len of them.</summary>
/// <remarks>
/// Threads: any. Entries are rare, so a lock is all it takes; whether a command is slow is asked without it.
/// </remarks>
/// <param name="charge">Is told of each change of the memory that the entries take.</param>
/// <param name="time">Gives entries their time.</param>
internal sealed class SlowLog(Action<long> charge, TimeProvider time) : IDisposable
{
    /// <summary>Of more arguments the last one shown says how many there are.</summary>
    public const int ArgumentsMax = 32;

    /// <summary>Of a longer argument only this much is shown, and how much more there is.</summary>
    public const int ArgumentBytesMax = 128;

    /// <summary>Entries take no more memory than this, however many slowlog-max-len allows: the oldest go. Some 1,500
    /// of the longest, or 40,000 of usual ones.</summary>
    public const long BytesMax = 8 << 20;

    private static readonly byte[] Redacted = Encoding.ASCII.GetBytes("(redacted)");
    private static readonly long TicksPerMicrosecond = Stopwatch.Frequency / 1_000_000;

    private readonly Lock _guard = new();
    private readonly Queue<SlowEntry> _entries = new();
    private readonly ReplyWriter _writer = new(new OutputBuffer(1024, 64 * 1024));
    private SlowEntry? _last;
    private long _thresholdTicks = long.MaxValue;
    private long _lengthMax, _nextId, _bytes;

    /// <summary>Which commands have to be timed one by one.</summary>
    public TimingDetail Detail { get; private set; }

    /// <summary>How many entries there are.</summary>
    public int Count
    {
        get
        {
            lock (_guard) return _entries.Count;
        }
    }

    /// <summary>The newest entry, or null.</summary>
    public SlowEntry? Last
    {
        get
        {
            lock (_guard) return _entries.Count > 0 ? _last : null;
        }
    }

    /// <summary>Takes over slowlog-log-slower-than and slowlog-max-len.</summary>
    public void Follow(ServerOptions options)
    {
        long threshold = options.SlowlogLogSlowerThan;
        lock (_guard)
        {
            bool isFar = threshold is < 0 or > long.MaxValue / 1_000_000;      // off, or no command takes that long
            Volatile.Write(ref _thresholdTicks, isFar ? long.MaxValue : threshold * TicksPerMicrosecond);
            Detail = CommandTiming.DetailOf(threshold);
            _lengthMax = options.SlowlogMaxLen;
            Trim();
        }
    }

    /// <summary>Whether a command that took so many ticks of <see cref="Stopwatch"/> is to be added.</summary>
    // Volatile: CONFIG SET changes it; nothing else is ordered by it.
    public bool IsSlow(long ticks) => ticks >= Volatile.Read(ref _thresholdTicks);

    /// <summary>Copies what is shown of a command.</summary>
    /// <param name="items">The command's name and its arguments.</param>
    /// <param name="secrets">A bit for each of the first arguments: set, it is not shown.</param>
    /// <returns>An array of RESP, the same in both versions.</returns>
    public byte[] Record(ReadOnlySpan<Argument> items, uint secrets)
    {
        Debug.Assert(items.Length > 0, "a command has a name");
        lock (_guard)
        {
            _writer.Output.Clear();
            _writer.BeginReply();
            int shown = Math.Min(items.Length, ArgumentsMax);
            _writer.WriteArray(shown);
            for (int i = 0; i < shown; i++)
            {
                if (i == shown - 1 && shown < items.Length)
                    WriteCut([], $"... ({items.Length - shown + 1} more arguments)");
                else if ((secrets & (1u << i)) != 0) _writer.WriteBulk(Redacted);
                else if (items[i].Length <= ArgumentBytesMax) _writer.WriteBulk(items[i].Span);
                else
                    WriteCut(items[i].Span[..ArgumentBytesMax],
                        $"... ({items[i].Length - ArgumentBytesMax} more bytes)");
            }

            return _writer.Output.Span.ToArray();
        }
    }

    /// <summary>Adds a command, and lets the oldest go where there are too many.</summary>
    /// <param name="arguments">From <see cref="Record"/>.</param>
    /// <param name="ticks">How long it ran.</param>
    /// <param name="address">The client's; empty for a script, which is not connected.</param>
    /// <param name="name">The client's; null for none.</param>
    public void Add(byte[] arguments, long ticks, string address, byte[]? name)
    {
        lock (_guard)
        {
            var entry = new SlowEntry(_nextId++, time.GetUtcNow().ToUnixTimeSeconds(), ticks / TicksPerMicrosecond,
                arguments, address.Length == 0 ? "?:0" : address, name ?? []);
            _entries.Enqueue(entry);
            _last = entry;
            Charge(entry.Bytes);
            Trim();
        }
    }

    /// <summary>The last entries, the newest one first.</summary>
    /// <param name="countMax">How many at most.</param>
    public SlowEntry[] Newest(long countMax)
    {
        SlowEntry[] entries;
        lock (_guard) entries = [.. _entries];
        Array.Reverse(entries);
        return entries.Length <= countMax ? entries : entries[..(int)countMax];
    }

    /// <summary>Forgets all entries; numbers go on.</summary>
    public void Clear()
    {
        lock (_guard)
        {
            _entries.Clear();
            _last = null;
            _entries.TrimExcess();
            Charge(-_bytes);
        }
    }

    /// <summary>Tells the account of memory that something holds for the slow log, or holds no longer.</summary>
    internal void ChargeHeld(long bytes) => charge(bytes);

    public void Dispose()
    {
        Clear();
        _writer.Dispose();
    }

    private void WriteCut(ReadOnlySpan<byte> text, string more)
    {
        Span<byte> whole = stackalloc byte[ArgumentBytesMax + 64];
        text.CopyTo(whole);
        int length = text.Length + Encoding.ASCII.GetBytes(more, whole[text.Length..]);
        _writer.WriteBulk(whole[..length]);
    }

    private void Trim()
    {
        while (_entries.Count > _lengthMax || _bytes > BytesMax) Charge(-_entries.Dequeue().Bytes);
    }

    private void Charge(long bytes)
    {
        _bytes += bytes;
        charge(bytes);
    }
}
