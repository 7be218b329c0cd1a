using System.Text;
using Kv.Storage;

namespace Kv.Tests.Storage;

/// <summary>The store against a dictionary, single-threaded, with all sizes, expiry, reclaim and growth.</summary>
public sealed class StoreModelTests
{
    [Theory]
    [InlineData(1, 60_000, 300)]
    [InlineData(2, 60_000, 20_000)]
    [InlineData(3, 4_000, 50)]
    public void Behaves_as_a_dictionary_does(int seed, int steps, int keys)
    {
        var clock = new TestClock();
        using var store = new Store(new StoreOptions { Background = false, Time = clock });
        using (StoreSession session = store.CreateSession())
        {
            var random = new Random(seed);
            var model = new Dictionary<string, (byte[] Value, long Expiry)>();
            bool large = keys == 50;
            for (int step = 0; step < steps; step++)
            {
                session.BeginTurn();
                session.Select(0);
                string name = "key:" + random.Next(keys);
                if (random.Next(20) == 0) name += new string('x', 1020);
                byte[] bytes = Encoding.ASCII.GetBytes(name);
                Key key = session.Key(bytes);
                bool known = model.TryGetValue(name, out var old) && (old.Expiry == -1 || old.Expiry > session.NowMs);
                switch (random.Next(9))
                {
                    case 0 or 1:
                        byte[] value = new byte[large && random.Next(4) == 0 ? random.Next(200_000) : random.Next(60)];
                        random.NextBytes(value);
                        Assert.Equal(StoreStatus.Ok, session.Set(key, value));
                        model[name] = (value, -1);
                        break;
                    case 2:
                        Assert.Equal(known, session.Delete(key));
                        model.Remove(name);
                        break;
                    case 3:
                        byte[] tail = new byte[large ? random.Next(30_000) : random.Next(40)];
                        random.NextBytes(tail);
                        var append = new Append(tail);
                        Assert.Equal(StoreStatus.Ok, session.Update(key, DataType.String, ref append));
                        model[name] = known ? ([.. old.Value, .. tail], old.Expiry) : (tail, -1);
                        break;
                    case 4:
                        long number = random.NextInt64(-1000, 100_000);
                        var set = new SetInteger(number);
                        Assert.Equal(StoreStatus.Ok, session.Update(key, DataType.String, ref set));
                        model[name] = (Encoding.ASCII.GetBytes(number.ToString()), known ? old.Expiry : -1);
                        break;
                    case 5:
                        long at = random.Next(4) == 0 ? -1 : clock.Ms + random.Next(2000);
                        var expire = new ExpireAt(at);
                        Assert.Equal(known ? StoreStatus.Ok : StoreStatus.NotFound,
                            session.Update(key, DataType.Any, ref expire));
                        if (known) model[name] = (old.Value, at);
                        break;
                    case 6:
                        clock.Ms += random.Next(3);
                        break;
                    default:
                        var take = default(TakeBytes);
                        var status = session.Read(key, DataType.String, ref take);
                        Assert.Equal(known ? StoreStatus.Ok : StoreStatus.NotFound, status);
                        if (!known) break;
                        Assert.Equal(old.Value, take.Bytes);
                        Assert.Equal(old.Expiry, take.ExpiryMs);
                        break;
                }

                if (step % 1000 != 0) continue;
                session.GoOffline();
                store.Maintain();
                if (step % 6000 == 0) store.CheckIntegrity();
            }

            session.BeginTurn();
            session.Select(0);
            foreach (var (name, (value, expiry)) in model)
            {
                var take = default(TakeBytes);
                bool alive = expiry == -1 || expiry > session.NowMs;
                Assert.Equal(alive ? StoreStatus.Ok : StoreStatus.NotFound,
                    session.Read(session.Key(Encoding.ASCII.GetBytes(name)), DataType.Any, ref take));
                if (alive) Assert.Equal(value, take.Bytes);
            }

            session.GoOffline();
            store.CheckIntegrity();
            store.FlushAll();
            for (int i = 0; i < 4; i++) store.Maintain();
            Assert.Equal(0, store.Count(0));
        }

        Assert.Equal(0, store.Stats.BlockBytes);
        Assert.Equal(0, store.Stats.IndexBytes);
        Assert.Equal(0, store.Stats.LogBytes);
    }

    [Fact]
    public void Scan_returns_every_key_that_stays_while_the_index_grows()
    {
        using var store = new Store(new StoreOptions { Background = false });
        using StoreSession session = store.CreateSession();
        session.BeginTurn();
        session.Select(0);
        for (int i = 0; i < 20_000; i++) session.Set(session.Key(Encoding.ASCII.GetBytes("stay" + i)), "v"u8);
        var seen = new HashSet<string>();
        var collect = new CollectKeys(seen);
        ulong cursor = 0;
        int added = 0;
        do
        {
            cursor = session.Scan(cursor, ref collect);
            for (int i = 0; i < 20 && added < 60_000; i++)
                session.Set(session.Key(Encoding.ASCII.GetBytes("new" + added++)), "v"u8);
        }
        while (cursor != 0);

        Assert.Equal(20_000, seen.Count(key => key.StartsWith("stay", StringComparison.Ordinal)));
        session.GoOffline();
        store.CheckIntegrity();
        Assert.True(store.Stats.IndexGrowths >= 2);
    }
}
