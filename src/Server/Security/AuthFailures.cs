using System.Diagnostics;

namespace Kv.Server.Security;

/// <summary>Remembers by address how often a password was wrong, and how long the reply to the next wrong password has
/// to wait.</summary>
/// <remarks>
/// Threads: any. The reply to the third failure waits 50 ms, each further one twice as long, up to a second. An address
/// is forgotten after a minute without a failure, or when it succeeds. At most <see cref="AddressesMax"/> are kept:
/// with more attackers than that some wait less, and nobody else waits longer.
/// </remarks>
internal sealed class AuthFailures(Func<long> tickMs)
{
    internal const int AddressesMax = 4096;
    private const int FreeFailures = 2;
    private const long FirstDelayMs = 50, DelayMsMax = 1000, ForgetAfterMs = 60_000;

    private readonly Lock _guard = new();
    private readonly Dictionary<string, (int Count, long AtMs)> _failures = [];

    /// <summary>Addresses that are remembered.</summary>
    internal int Count
    {
        get { lock (_guard) return _failures.Count; }
    }

    /// <summary>Notes a failure.</summary>
    /// <param name="peer">"address:port" or "path:0".</param>
    /// <returns>Milliseconds until the reply may be sent; 0: at once.</returns>
    public long Add(string peer)
    {
        string address = AddressOf(peer);
        long now = tickMs();
        lock (_guard)
        {
            if (!_failures.TryGetValue(address, out var seen) || now - seen.AtMs > ForgetAfterMs)
            {
                if (_failures.Count >= AddressesMax) MakeRoomLatched(now);
                seen = default;
            }
            int count = Math.Min(seen.Count + 1, 1000);
            _failures[address] = (count, now);
            if (count <= FreeFailures) return 0;
            int doublings = Math.Min(count - FreeFailures - 1, 10);     // 50 ms · 2^10 is far past DelayMsMax
            return Math.Min(FirstDelayMs << doublings, DelayMsMax);
        }
    }

    /// <summary>Forgets an address that knows the password.</summary>
    public void Clear(string peer)
    {
        lock (_guard)
        {
            if (_failures.Count > 0) _failures.Remove(AddressOf(peer));
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

    private static string AddressOf(string peer)
    {
        int colon = peer.LastIndexOf(':');
        return colon < 0 ? peer : peer[..colon];
    }
}
