using System.Diagnostics;

namespace Kv.Tests.Harness;

/// <summary>Waits for what a server does behind its replies (closing, sweeping, freeing), a bounded time.</summary>
public static class Eventually
{
    /// <summary>Fails when the condition does not hold within the time.</summary>
    public static void Holds(Func<bool> condition, Func<string> message, int timeoutMs = 60_000)
    {
        long begin = Stopwatch.GetTimestamp();
        while (!condition())
        {
            if (Stopwatch.GetElapsedTime(begin).TotalMilliseconds > timeoutMs)
            {
                Assert.Fail($"not within {timeoutMs} ms: {message()}");
                return;
            }

            Thread.Sleep(5);
        }
    }
}
