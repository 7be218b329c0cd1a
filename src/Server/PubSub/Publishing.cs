using System.Diagnostics;

namespace Kv.Server.PubSub;

/// <summary>A message on its way to the patterns: those that there were when it was published, one after
/// another.</summary>
/// <remarks>Threads: the publisher's. A pattern may lose its subscribers before its turn: its list is empty
/// then.</remarks>
internal struct Publishing(PubSubEngine engine, Channel[] patterns, long receivers)
{
    /// <summary>The clock is asked after so many patterns, or bytes of the channel and the message that they were
    /// given.</summary>
    private const int PatternsPerLook = 64, BytesPerLook = 4096;

    private int _next;

    /// <summary>To how many clients the message has been sent.</summary>
    public long Receivers { get; private set; } = receivers;

    /// <summary>Sends to some more patterns.</summary>
    /// <param name="channel">The same each time, as the message.</param>
    /// <param name="payload">The message.</param>
    /// <param name="mayStop">Whether to stop after some half a millisecond; some patterns are served at least.</param>
    /// <returns>True when that was all.</returns>
    public bool GoOn(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload, bool mayStop)
    {
        long endTicks = 0;
        int patternsPerLook = (int)Math.Clamp(BytesPerLook / (channel.Length + (long)payload.Length + 1), 1,
            PatternsPerLook);
        for (int left = patternsPerLook; _next < patterns.Length; left--)
        {
            if (left == 0)
            {
                // Not asked at all where patterns are few.
                long now = Stopwatch.GetTimestamp();
                if (endTicks == 0) endTicks = mayStop ? now + (Stopwatch.Frequency / 2000) : long.MaxValue;
                if (now >= endTicks) return false;
                left = patternsPerLook;
            }

            Receivers += engine.PublishTo(patterns[_next++], channel, payload);
        }

        return true;
    }
}
