using System.Diagnostics;

namespace Kv.Server.Security;

/// <summary>Remembers by address how often a password was wrong, and how long the reply to the next wrong password has
/// to wait.</summary>
/// <remarks>
/// Threads: any. The reply to the third failure waits 50 ms, each further one twice as long, up to a second. An address
/// is forgotten after a minute without a failure, or when it knows the password that it got wrong: who guesses the
/// password of one user cannot log in as another in between and begin anew. At most <see cref="AddressesMax"/> are
/// kept: with more attackers than that some wait less, and nobody else waits longer.
/// </remarks>
internal sealed class AuthFailures(Func<long> tickMs)
{
    internal const int AddressesMax = 4096;
    private const int FreeFailures = 2;

    /// <summary>More of a name is not looked at: nobody has a longer one.</summary>
    private const int NameBytesMax = 1024;

    private const long FirstDelayMs = 50, DelayMsMax = 1000, ForgetAfterMs = 60_000;

    private readonly Lock _guard = new();
    private readonly Dictionary<string, Failures> _failures = [];

    /// <summary>Addresses that are remembered.</summary>
    internal int Count
    {
        get { lock (_guard) return _failures.Count; }
    }

    /// <summary>Notes a failure.</summary>
    /// <param name="peer">"address:port" or "path:0".</param>
    /// <param name="user">Whose password was wrong.</param>
    /// <returns>Milliseconds until the reply may be sent; 0: at once.</returns>
    public long Add(string peer, ReadOnlySpan<byte> user)
    {
        string address = AddressOf(peer);
        int userHash = HashOf(user);
        long now = tickMs();
        lock (_guard)
        {
            if (!_failures.TryGetValue(address, out var seen) || now - seen.AtMs > ForgetAfterMs)
            {
                if (_failures.Count >= AddressesMax) MakeRoomLatched(now);
                seen = new Failures(0, now, userHash, IsOfOneUser: true);
            }
            int count = Math.Min(seen.Count + 1, 1000);
            _failures[address] = new Failures(count, now, userHash, seen.IsOfOneUser && seen.UserHash == userHash);
            if (count <= FreeFailures) return 0;
            int doublings = Math.Min(count - FreeFailures - 1, 10);     // 50 ms · 2^10 is far past DelayMsMax
            return Math.Min(FirstDelayMs << doublings, DelayMsMax);
        }
    }

    /// <summary>Whether the reply to the next wrong password of an address would have to wait.</summary>
    public bool WouldDelay(string peer)
    {
        lock (_guard)
        {
            return _failures.TryGetValue(AddressOf(peer), out var seen) && seen.Count >= FreeFailures
                && tickMs() - seen.AtMs <= ForgetAfterMs;
        }
    }

    /// <summary>Forgets an address that has given a password of a user, if all that it got wrong was that.</summary>
    public void Clear(string peer, ReadOnlySpan<byte> user)
    {
        int userHash = HashOf(user);
        lock (_guard)
        {
            if (_failures.Count == 0) return;
            string address = AddressOf(peer);
            if (_failures.TryGetValue(address, out var seen) && seen.IsOfOneUser && seen.UserHash == userHash)
                _failures.Remove(address);
        }
    }

    private void MakeRoomLatched(long now)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the failures are under the lock");
        foreach (var (address, seen) in _failures)
        {
            if (now - seen.AtMs > ForgetAfterMs) _failures.Remove(address);     // allowed while enumerating
        }
        if (_failures.Count >= AddressesMax) _failures.Clear();
    }

    // By a seed of this process: nobody can look for two names of one hash.
    private static int HashOf(ReadOnlySpan<byte> user)
    {
        var hash = new HashCode();
        hash.AddBytes(user[..Math.Min(user.Length, NameBytesMax)]);
        return hash.ToHashCode();
    }

    private static string AddressOf(string peer)
    {
        int colon = peer.LastIndexOf(':');
        return colon < 0 ? peer : peer[..colon];
    }

    /// <param name="Count">Since the address was forgotten last.</param>
    /// <param name="AtMs">When the last one was.</param>
    /// <param name="UserHash">Of the name of the user whose password was wrong the last time.</param>
    private readonly record struct Failures(int Count, long AtMs, int UserHash, bool IsOfOneUser);
}
