using Kv.Server.Network;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>What a loop of the portable transport sleeps on.</summary>
public sealed class LoopSignalTests
{
    // Two loops that wake each other: one that is lost stops both. Every third goes on in the waker's own call.
    [Fact]
    public async Task No_wake_up_is_lost()
    {
        const int Rounds = 100_000;
        LoopSignal first = new(), second = new();
        int firstAt = 0, secondAt = 0;
        async Task RunAsync(LoopSignal own, LoopSignal other, Func<int> seen, Action<int> tell)
        {
            for (int round = 1; round <= Rounds; round++)
            {
                tell(round);
                other.Set(here: round % 3 == 0);
                while (true)
                {
                    own.Clear();
                    if (seen() >= round) break;
                    await own.WaitAsync().ConfigureAwait(false);
                }
            }
        }

        var both = Task.WhenAll(
            Task.Run(() => RunAsync(first, second, () => Volatile.Read(ref secondAt),
                round => Volatile.Write(ref firstAt, round))),
            Task.Run(() => RunAsync(second, first, () => Volatile.Read(ref firstAt),
                round => Volatile.Write(ref secondAt, round))));
        await both.WaitAsync(TimeSpan.FromSeconds(60 * TimeBudget.Scale), TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task A_signal_that_is_set_before_the_wait_ends_it_and_is_gone_when_cleared()
    {
        var signal = new LoopSignal();
        signal.Set();
        signal.Set();
        Assert.True(signal.WaitAsync().IsCompleted);
        signal.Clear();
        var wait = signal.WaitAsync();
        Assert.False(wait.IsCompleted);
        signal.Set(here: true);
        await wait;
    }
}
