using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

public sealed unsafe class RefusedMemoryTests
{
    // M06: whichever allocation is refused, the answer is OutOfMemory, nothing has changed, and nothing is lost.
    [Fact]
    public void Known_M06_every_refused_allocation_leaves_the_store_as_it_was()
    {
        int refused = 0;
        for (int nth = 1; nth <= 12; nth++)
        {
            using var test = new TestStore();
            var model = new Dictionary<string, string>();
            Random random = Seed.NewRandom(nth);
            int calls = 0;
            test.Store.Budget.Refuse = () => ++calls % nth == 0;
            for (int step = 0; step < 1500; step++)
            {
                test.Begin(random.Next(3));
                int database = random.Next(3);
                test.Session.Select(database);
                string key = "key" + random.Next(40) + (random.Next(4) == 0 ? new string('l', 1100) : "");
                string name = database + key;
                string value = new((char)('a' + random.Next(26)),
                    random.Next(5) == 0 ? random.Next(200_000) : random.Next(3000));
                StoreStatus status;
                switch (random.Next(5))
                {
                    case 0:
                        status = test.TrySet(key, TestStore.Bytes(value));
                        if (status == StoreStatus.Ok) model[name] = value;
                        break;
                    case 1:
                        var append = new Append(TestStore.Bytes(value));
                        status = test.Session.Update(test.Session.Key(TestStore.Bytes(key)), DataType.String,
                            ref append);
                        if (status == StoreStatus.Ok) model[name] = model.GetValueOrDefault(name) + value;
                        break;
                    case 2:
                        Assert.Equal(model.Remove(name), test.Delete(key));
                        continue;
                    case 3:
                        status = SetThree(test, database, key, value, model);
                        break;
                    default:
                        var expire = new ExpireAt(test.Clock.Ms + 1_000_000);
                        status = test.Session.Update(test.Session.Key(TestStore.Bytes(key)), DataType.Any, ref expire);
                        if (status == StoreStatus.NotFound) continue;
                        break;
                }

                if (status == StoreStatus.OutOfMemory) refused++;
                else Assert.Equal(StoreStatus.Ok, status);
                // Where a write of several keys was refused, each is as it was.
                Assert.Equal(model.GetValueOrDefault(name), Get(test, database, key));
                Assert.Equal(model.GetValueOrDefault(name + "2"), Get(test, database, key + "2"));
                int other = (database + 1) % 3;
                Assert.Equal(model.GetValueOrDefault($"{other}{key}2"), Get(test, other, key + "2"));
            }

            test.Session.GoOffline();
            test.Store.Maintain();      // reclaim is refused, too
            test.Store.CheckIntegrity();
            test.Store.Budget.Refuse = null;
            test.Settle();
            Assert.Equal(model.Count, Enumerable.Range(0, 3).Sum(test.Store.Count));
            Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
        }

        Assert.True(refused > 500, $"only {refused} were refused");
    }

    private static string? Get(TestStore test, int database, string key)
    {
        test.Session.Select(database);      // a hold may have made it
        return test.Get(key);
    }

    // All or nothing. The first key is there twice: its last value counts.
    private static StoreStatus SetThree(TestStore test, int database, string key, string value,
        Dictionary<string, string> model)
    {
        byte[] first = TestStore.Bytes(key), second = TestStore.Bytes(key + "2");
        fixed (byte* one = first, two = second)
        {
            test.Session.Keys.Clear();
            test.Session.Keys.Add(one, first.Length, database, 100);
            test.Session.Keys.Add(two, second.Length, (database + 1) % 3);
            test.Session.Keys.Add(one, first.Length, database);
            test.Session.Keys.Add(two, second.Length, database);
            using HeldKeys held = test.Session.Hold(test.Session.Keys);
            if (held.Status != StoreStatus.Ok) return held.Status;
            byte[] bytes = TestStore.Bytes(value), other = new byte[bytes.Length / 2];
            Array.Fill(other, (byte)'o');
            byte[][] values = [other, bytes, bytes, other];
            for (int i = 0; i < values.Length; i++)
            {
                var status = held.PrepareSet(i, values[i]);
                if (status != StoreStatus.Ok) return status;
            }

            for (int i = 0; i < values.Length; i++) held.FinishSet(i, values[i]);
            model[database + key] = value;
            model[(database + 1) % 3 + key + "2"] = value;
            model[database + key + "2"] = new string('o', other.Length);
            return StoreStatus.Ok;
        }
    }

    // M07: what is charged is what is there, to the byte.
    [Fact]
    public void Known_M07_the_account_is_the_sum_after_a_million_random_operations()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom(7);
        byte[] buffer = new byte[200_000];
        int steps = TimeBudget.Count(1_000_000);
        for (int step = 0; step < steps; step++)
        {
            if (step % 64 == 0) test.Begin(random.Next(2));
            Key key = test.Session.Key(
                TestStore.Bytes("key" + random.Next(3000) + (random.Next(50) == 0 ? new string('l', 1100) : "")));
            var value = buffer.AsSpan(0, random.Next(500) == 0 ? random.Next(buffer.Length) : random.Next(200));
            switch (random.Next(6))
            {
                case 0 or 1:
                    test.Session.Set(key, value);
                    break;
                case 2:
                    test.Session.Set(key, value, default, test.Clock.Ms + random.Next(1000));
                    break;
                case 3:
                    test.Session.Delete(key);
                    break;
                case 4:
                    var append = new Append(value);
                    test.Session.Update(key, DataType.String, ref append);
                    break;
                default:
                    var integer = new SetInteger(step);
                    test.Session.Update(key, DataType.String, ref integer);
                    break;
            }

            if (step % 2000 != 0) continue;
            test.Clock.Advance(500);
            test.Session.GoOffline();
            test.Store.Maintain();
            test.Begin();
        }

        test.Settle();
        Assert.Equal(test.Store.Stats.BlockBytes, IntegrityCheck.Run(test.Store));
        test.Store.FlushAll();
        test.Settle();
        Assert.Equal((0, 0, 0), (test.Store.Stats.IndexBytes, test.Store.Stats.LogBytes, test.Store.Stats.BlockBytes));
    }
}
