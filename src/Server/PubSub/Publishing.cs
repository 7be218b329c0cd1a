using System.Diagnostics;

namespace Kv.Server.PubSub;

/// <summary>Sends a message to the subscribers of the matching patterns that there were when it was
/// published.</summary>
/// <remarks>Threads: the publisher's. A pattern may have lost its subscribers when its turn comes.</remarks>
internal struct Publishing(PubSubEngine engine, PatternWalk patterns, long receivers)
{
    /// <summary>The clock is read after this many patterns, fewer if the channel's name and the message are
    /// long.</summary>
    private const int PatternsPerLook = 64, BytesPerLook = 4096;

    private PatternWalk _patterns = patterns;

    /// <summary>How many copies of the message have been sent.</summary>
    public long Receivers { get; private set; } = receivers;

    /// <summary>Sends the message to the subscribers of some more patterns.</summary>
    /// <param name="channel">What <see cref="PubSubEngine.BeginPublish"/> was given.</param>
    /// <param name="payload">What <see cref="PubSubEngine.BeginPublish"/> was given.</param>
    /// <param name="mayStop">Whether to stop after about half a millisecond, and some patterns at least.</param>
    /// <returns>True when all patterns are done.</returns>
    public bool GoOn(ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload, bool mayStop)
    {
        long endTicks = 0;
        int patternsPerLook = (int)Math.Clamp(BytesPerLook / (channel.Length + (long)payload.Length + 1), 1,
            PatternsPerLook);
        int left = patternsPerLook;
        bool isFirst = true;
        while (_patterns.TryNext(out var pattern, out bool isPart))
        {
            if (pattern != null) Receivers += engine.PublishTo(pattern, channel, payload);
            // The first part (the only one where patterns are few) needs no look at the clock: its patterns have one.
            if (isPart ? isFirst : --left > 0)
            {
                isFirst = false;
                continue;
            }

            long now = Stopwatch.GetTimestamp();
            if (endTicks == 0) endTicks = mayStop ? now + (Stopwatch.Frequency / 2000) : long.MaxValue;
            if (now >= endTicks) return false;
            left = patternsPerLook;
        }

        return true;
    }
}
