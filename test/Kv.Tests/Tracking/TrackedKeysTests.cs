using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>The table of keys and readers against the obvious one, with hashes of which many are the same.</summary>
public sealed class TrackedKeysTests
{
    private readonly Dictionary<string, HashSet<long>> _model = [];

    [Theory]
    [InlineData(0xFFFFFFFFFFFFFFFFUL)]
    [InlineData(0x0700000000000003UL)]
    [InlineData(0x0001000000000000UL)]
    public void Has_what_was_added_and_not_taken(ulong hashBits)
    {
        using var store = new Store(new StoreOptions());
        var keys = store.Watches.Tracked;
        keys.Prepare();
        long bytes = store.Budget.ExternalBytes;
        var random = Seed.NewRandom((int)(hashBits >> 40));
        for (int i = 0; i < TimeBudget.Count(20_000); i++)
        {
            string key = new((char)('a' + random.Next(26)), random.Next(1, 40));
            switch (random.Next(8))
            {
                case 0: Take(keys, key, HashOf(key, hashBits), kept: random.Next(3)); break;
                case 1 when i % 50 == 0: TakeAny(keys); break;
                case 2 when i % 2000 == 0:
                    keys.TakeAll()?.Invoke();
                    _model.Clear();
                    break;
                default:
                    long reader = random.Next(1, 12);
                    keys.Add(HashOf(key, hashBits), Encoding.ASCII.GetBytes(key), reader);
                    if (!_model.TryGetValue(key, out var readers)) _model[key] = readers = [];
                    readers.Add(reader);
                    break;
            }

            Assert.True((keys.Count, keys.Readers) == (_model.Count, _model.Values.Sum(one => one.Count)), Seed.Hint);
        }

        foreach (string key in _model.Keys.ToArray()) Assert.True(keys.MayHave(HashOf(key, hashBits)), Seed.Hint);
        foreach (string key in _model.Keys.ToArray()) Take(keys, key, HashOf(key, hashBits), kept: 0);
        for (int place = 0; place < 65_536; place++) Assert.False(keys.MayHave((ulong)place << 48), Seed.Hint);
        keys.Add(1, "left"u8, 1);
        keys.TakeAll()!.Invoke();
        Assert.Equal((0, 0), (keys.Count, keys.Readers));
        Assert.Equal(bytes, store.Budget.ExternalBytes);
    }

    [Fact]
    public void Gives_memory_back_as_keys_go_one_by_one()
    {
        using var store = new Store(new StoreOptions());
        var keys = store.Watches.Tracked;
        keys.Prepare();
        long bytes = store.Budget.ExternalBytes;
        for (int i = 0; i < 50_000; i++) keys.Add(HashOf($"key:{i}", ulong.MaxValue), "key"u8, reader: 1);
        Assert.InRange(store.Budget.ExternalBytes - bytes, 50_000 * 40, 50_000 * 100);
        for (int i = 0; i < 50_000; i++) keys.Take(HashOf($"key:{i}", ulong.MaxValue), "key"u8, kept: 0).Dispose();
        // What is left is the least that each of 256 stripes keeps.
        Assert.InRange(store.Budget.ExternalBytes - bytes, 0, 256 * 16 * 16);
    }

    [Fact]
    public void Forgets_readers_that_are_none_any_more_when_there_is_no_room_for_another()
    {
        using var store = new Store(new StoreOptions());
        var keys = store.Watches.Tracked;
        keys.Prepare();
        keys.IsReader = reader => reader % 3 == 0;
        for (long reader = 1; reader <= 3000; reader++) keys.Add(1, "k"u8, reader);
        using var taken = keys.Take(1, "k"u8, kept: 0);
        Assert.InRange(taken.Readers.Length, 1000, 2048);
        Assert.Equal(Enumerable.Range(1, 1000).Select(i => 3L * i),
            taken.Readers.ToArray().Where(reader => reader % 3 == 0));
        Assert.Equal(0, keys.Readers);
    }

    private void Take(TrackedKeys keys, string key, ulong hash, long kept)
    {
        using var taken = keys.Take(hash, Encoding.ASCII.GetBytes(key), kept);
        if (!_model.TryGetValue(key, out var readers))
        {
            Assert.True(taken.IsNone, Seed.Hint);
            return;
        }

        bool stays = readers.Contains(kept);
        Assert.Equal(readers.Where(one => one != kept).Order(), taken.Readers.ToArray().Order());
        if (!taken.IsNone) Assert.Equal(key, Encoding.ASCII.GetString(taken.Bytes));
        if (stays) readers.RemoveWhere(one => one != kept);
        else _model.Remove(key);
    }

    private void TakeAny(TrackedKeys keys)
    {
        using var taken = keys.TakeAny();
        if (taken.IsNone)
        {
            Assert.Empty(_model);
            return;
        }

        string key = Encoding.ASCII.GetString(taken.Bytes);
        Assert.Equal(_model[key].Order(), taken.Readers.ToArray().Order());
        _model.Remove(key);
    }

    private static ulong HashOf(string key, ulong bits)
    {
        ulong hash = 14695981039346656037;
        foreach (char letter in key) hash = unchecked((hash ^ letter) * 0x9E3779B97F4A7C15);
        return hash & bits;
    }
}
