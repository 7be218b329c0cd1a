using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;
using Kv.Tests.Stress;

namespace Kv.Tests.Eviction;

/// <summary>Keys are evicted while threads read, write, delete, watch and expire them.</summary>
public sealed class EvictionStressTests
{
    // Allowed: a key is gone. Forbidden: another key's value, a torn or old one, one that comes back after a delete.
    [Theory]
    [InlineData(MaxMemoryPolicy.AllKeysLru)]
    [InlineData(MaxMemoryPolicy.AllKeysLfu)]
    [InlineData(MaxMemoryPolicy.VolatileTtl)]
    public void Whatever_is_evicted_the_rest_is_right(MaxMemoryPolicy policy)
    {
        const int Threads = 3, KeysOfThread = 20_000;
        const long Limit = 16 << 20;
        using var run = new StressRun(3);
        run.Store.MaxMemoryBytes = Limit;
        run.Store.MaxMemoryPolicy = policy;
        for (int thread = 0; thread < Threads; thread++)
        {
            int own = thread;
            var last = new long[KeysOfThread];      // 0: deleted, or never there
            long next = 0;
            byte[] buffer = new byte[70_000];
            run.Add((session, random) =>
            {
                int number = random.Next(KeysOfThread);
                byte[] name = TestStore.Bytes($"{own}:{number}");
                Key key = session.Key(name);
                switch (random.Next(8))
                {
                    case 0:
                        session.Delete(key);
                        last[number] = 0;
                        break;
                    case < 4 when session.AskRoom() == StoreRoom.Free:
                        int length = random.Next(100) == 0 ? 8 * random.Next(8200, 8700) : 8 * random.Next(1, 200);
                        var bytes = NumberValue.Fill(buffer.AsSpan(0, length), last[number] = ++next);
                        long expiryMs = random.Next(4) == 0
                            ? NewValue.NoExpiry : run.Clock.Ms + random.Next(1, 100_000);
                        Assert.Equal(StoreStatus.Ok, session.Set(key, bytes, default, expiryMs));
                        break;
                    default:
                        var take = default(TakeNumber);
                        var status = session.Read(key, DataType.String, ref take);
                        if (status == StoreStatus.NotFound) break;
                        Assert.False(take.IsTorn, "a torn value");
                        Assert.Equal(last[number], take.Number);
                        break;
                }
            });
        }

        run.AddWeather();
        run.Finish(() => run.Store.Stats.EvictedKeys > 0);
        Assert.Equal(run.Store.Stats.BlockBytes, IntegrityCheck.Run(run.Store));
    }
}
