using System.Diagnostics;
using System.Text;
using Kv.Server.Sessions;

namespace Kv.Server.Users;

/// <summary>What users were denied, and who could not log in: the last acllog-max-len kinds of it.</summary>
/// <remarks>Threads: any; a lock, since denials are rare where all is well, and cost their client most where it is
/// not.</remarks>
internal sealed class AccessLog(TimeProvider time)
{
    /// <summary>Of a longer key or channel only this much is kept.</summary>
    public const int ObjectBytesMax = 128;

    /// <summary>Entries that are looked at for one of the same kind.</summary>
    private const int LookedAtMax = 10;

    /// <summary>Some 10 MB, however many acllog-max-len allows.</summary>
    private const int EntriesMax = 10_000;

    /// <summary>Denials of one kind are one entry while no more than this lies between them.</summary>
    private const long MergedMs = 60_000;

    private readonly Lock _guard = new();
    private readonly LinkedList<AccessLogEntry> _entries = new();     // the newest first
    private readonly long[] _counts = new long[(int)Denial.Channel + 1];
    private long _nextId, _lengthMax = 128;

    /// <summary>Takes over acllog-max-len.</summary>
    public string? Follow(Configuration.ServerOptions options)
    {
        lock (_guard)
        {
            _lengthMax = options.AclLogMaxLen;
            Trim();
        }

        return null;
    }

    /// <summary>Notes a denial.</summary>
    /// <param name="what">The command, key or channel.</param>
    /// <param name="userName">The user, or who the client said it was.</param>
    public void Add(Session client, AccessContext context, Denial denial, ReadOnlySpan<byte> what, string userName)
    {
        if (what.Length > ObjectBytesMax) what = what[..ObjectBytesMax];
        if (userName.Length > ObjectBytesMax) userName = userName[..ObjectBytesMax];
        var line = new StringBuilder();
        ClientLine.Append(line, client);
        string info = line.ToString(0, line.Length - 1);
        long now = time.GetUtcNow().ToUnixTimeMilliseconds();
        lock (_guard)
        {
            _counts[(int)denial]++;
            var entry = FindLatched(context, denial, what, userName, now);
            entry = entry == null
                ? new AccessLogEntry(_nextId++, 1, denial, context, what.ToArray(), userName, now, now, info)
                : entry with { Count = entry.Count + 1, UpdatedUnixMs = now, ClientInfo = info };
            _entries.AddFirst(entry);
            Trim();
        }
    }

    /// <summary>How often users were denied something for one reason since the start, whatever the log keeps.</summary>
    // Volatile: written under the lock; some recent value.
    public long CountOf(Denial denial) => Volatile.Read(ref _counts[(int)denial]);

    /// <summary>The last entries, the newest first.</summary>
    public AccessLogEntry[] Newest(long countMax)
    {
        lock (_guard) return [.. _entries.Take((int)Math.Clamp(countMax, 0, int.MaxValue))];
    }

    public void Clear()
    {
        lock (_guard) _entries.Clear();
    }

    /// <summary>Takes an entry of the same kind out of the list.</summary>
    private AccessLogEntry? FindLatched(AccessContext context, Denial denial, ReadOnlySpan<byte> what,
        string userName, long now)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the entries are the lock's");
        int left = LookedAtMax;
        for (var node = _entries.First; node != null && left-- > 0; node = node.Next)
        {
            var entry = node.Value;
            if (entry.Denial != denial || entry.Context != context || entry.UserName != userName
                || now - entry.UpdatedUnixMs > MergedMs || !what.SequenceEqual(entry.Object)) continue;
            _entries.Remove(node);
            return entry;
        }

        return null;
    }

    private void Trim()
    {
        while (_entries.Count > Math.Min(_lengthMax, EntriesMax)) _entries.RemoveLast();
    }
}

/// <summary>Denials of one kind: the count of them, and the client of the last.</summary>
internal sealed record AccessLogEntry(long Id, long Count, Denial Denial, AccessContext Context, byte[] Object,
    string UserName, long CreatedUnixMs, long UpdatedUnixMs, string ClientInfo);
