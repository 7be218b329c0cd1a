using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Stress;

/// <summary>Expiries that are overwritten where they are, while others read the values, sweep them and move their
/// records.</summary>
public sealed unsafe class ExpiryRaceTests(ITestOutputHelper output)
{
    private const long Never = long.MaxValue;
    private const int Keys = 3;

    // Each value says when it expires, twice. Forbidden: one that is read when its time has passed, half of one, and
    // one that the sweep forgets: a writer lowers the segment's mark under the lock, while the sweep raises it.
    [Fact]
    public void A_value_is_never_read_past_its_time_and_never_forgotten()
    {
        using var run = new StressRun(4);
        long overwritten = 0, found = 0;
        for (int thread = 0; thread < 3; thread++)
        {
            run.Add((session, random) =>
            {
                byte[] name = TestStore.Bytes("expiring" + random.Next(Keys));
                fixed (byte* bytes = name)
                {
                    Key key = session.Key(name);
                    ulong hint = session.LookAheadIndex(0)?.Probe(key.Hash) ?? 0;
                    if (hint == HashIndex.InChain) hint = session.LookAheadIndex(0)!.ProbeChain(key.Hash);
                    FoundString string1 = session.FindString(hint, bytes, name.Length);
                    if (random.Next(2) == 0)
                    {
                        if (!string1.Exists) return;
                        (long first, long second) = (((long*)string1.Bytes)[0], ((long*)string1.Bytes)[1]);
                        if (!string1.IsUnchanged) return;
                        Assert.Equal(first, second);
                        Assert.True(first > session.NowMs, $"a value of {first} at {session.NowMs}");
                        Interlocked.Increment(ref found);
                        return;
                    }

                    long expiryMs = random.Next(20) == 0
                        ? NewValue.NoExpiry : session.NowMs + (random.Next(2) == 0 ? 1 + random.Next(400) : 3_600_000);
                    long* value = stackalloc long[2];
                    value[0] = value[1] = expiryMs == NewValue.NoExpiry ? Never : expiryMs;
                    if (string1.Exists && session.TryOverwrite(string1, (byte*)value, 16, key.Hash,
                        expiryMs))
                        Interlocked.Increment(ref overwritten);
                    else Assert.Equal(StoreStatus.Ok,
                        session.Set(key, new ReadOnlySpan<byte>(value, 16), default, expiryMs));
                }
            });
        }

        run.AddWeather();
        run.Finish(() => Volatile.Read(ref overwritten) > 1000 && Volatile.Read(ref found) > 1000);
        run.Clock.Advance(4_000_000);
        run.Store.Maintain();
        Assert.Equal(0, run.Store.CountWithExpiry(0));
        output.WriteLine($"{overwritten} overwritten, {found} found, {run.Store.Stats}");
    }
}
