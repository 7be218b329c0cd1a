using System.Diagnostics;

namespace Kv.Server.Tls;

/// <summary>Places for the handshakes that are in progress. Who comes while all are taken waits in the system's queue,
/// and those that have one get less time.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class HandshakePlaces : IDisposable
{
    /// <summary>A handshake takes some 50 KB and, of a processor, a millisecond. A client that opens a thousand
    /// connections at once often begins all handshakes before it goes on with the first.</summary>
    public const int CountMax = 1024;

    private const int PatienceMs = 10_000, WithAllMs = 5000, WithAllAndSilentMs = 1000;

    private readonly SemaphoreSlim _free = new(CountMax);

    /// <summary>Handshakes in progress.</summary>
    public int Taken => CountMax - _free.CurrentCount;

    /// <summary>How long a handshake may take. When all places are taken strangers lose them soon, at once if they say
    /// nothing.</summary>
    /// <param name="hasBegun">Whether the client has sent something.</param>
    public int PatienceOf(bool hasBegun) =>
        _free.CurrentCount > 0 ? PatienceMs : hasBegun ? WithAllMs : WithAllAndSilentMs;

    public Task TakeAsync(CancellationToken cancellation) => _free.WaitAsync(cancellation);

    public void Leave()
    {
        int free = _free.Release();
        Debug.Assert(free < CountMax, "who leaves had a place");
    }

    public void Dispose() => _free.Dispose();
}
