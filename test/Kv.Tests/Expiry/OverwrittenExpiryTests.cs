using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Expiry;

/// <summary>SET over a value of the same size, with or without expiry: done where the value is.</summary>
public sealed unsafe class OverwrittenExpiryTests
{
    [Fact]
    public void A_nearer_expiry_over_a_farther_one_is_swept_in_time()
    {
        using var test = new TestStore();
        test.SetWithExpiry("key", "far", test.Clock.Ms + 3_600_000);
        ulong address = AddressOf(test, "key");
        test.SetWithExpiry("key", "nea", test.Clock.Ms + 1000);
        Assert.Equal(address, AddressOf(test, "key"));
        test.Clock.Advance(1001);
        test.Settle();
        Assert.Equal(0, test.Store.Count(0));
        Assert.Equal(1, test.Store.Stats.ExpiredKeys);
    }

    [Fact]
    public void A_value_without_expiry_over_one_with_outlives_it()
    {
        using var test = new TestStore();
        test.SetWithExpiry("key", "old", test.Clock.Ms + 1000);
        ulong address = AddressOf(test, "key");
        test.Set("key", "new");
        Assert.Equal(address, AddressOf(test, "key"));
        test.Clock.Advance(5000);
        test.Settle();
        Assert.Equal("new", test.Get("key"));
        Assert.Equal(0, test.Store.CountWithExpiry(0));
    }

    // The millisecond itself is past it: as for every other command.
    [Theory]
    [InlineData(-1, true)]
    [InlineData(0, false)]
    [InlineData(1, false)]
    public void A_string_is_found_until_its_time(long offsetMs, bool lives)
    {
        using var test = new TestStore();
        test.SetWithExpiry("key", "value", test.Clock.Ms + 1000);
        test.Clock.Advance(1000 + offsetMs);
        test.Begin();
        ulong hint = test.Session.LookAheadIndex(0)!.Probe(test.Session.Key("key"u8).Hash);
        fixed (byte* key = "key"u8) Assert.Equal(lives, test.Session.FindString(hint, key, 3).Exists);
        Assert.Equal(lives ? "value" : null, test.Get("key"));
        Assert.Equal(lives ? 0 : 1, test.Store.Stats.ExpiredKeys);
    }

    [Fact]
    public void An_expired_value_counts_as_expired_when_it_is_overwritten()
    {
        using var test = new TestStore();
        test.SetWithExpiry("key", "value", test.Clock.Ms + 1000);
        test.Clock.Advance(1000);
        test.Begin();
        test.SetWithExpiry("key", "other", test.Clock.Ms + 1000);
        Assert.Equal(1, test.Store.Stats.ExpiredKeys);
        Assert.Equal("other", test.Get("key"));
        test.Check();
    }

    // Lengths around the padded sizes, so that in place and by copy come by turns; the check compares counts, sums and
    // marks.
    [Fact]
    public void Counts_and_marks_stay_right_whatever_is_set_over_what()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom();
        var expected = new Dictionary<string, (string Value, long ExpiryMs)>();
        for (int i = 0; i < 4000; i++)
        {
            string key = "key" + random.Next(6), value = new((char)('a' + i % 26), random.Next(26));
            long expiryMs = random.Next(3) == 0 ? NewValue.NoExpiry : test.Clock.Ms + 1 + random.Next(2000);
            Assert.Equal(StoreStatus.Ok, expiryMs == NewValue.NoExpiry && random.Next(2) == 0
                ? test.TrySet(key, TestStore.Bytes(value)) : test.SetWithExpiry(key, value, expiryMs));
            expected[key] = (value, expiryMs);
            if (random.Next(20) == 0) test.Clock.Advance(random.Next(500));
            if (random.Next(50) == 0) test.Settle();
            else test.Begin();
            foreach (var (name, one) in expected)
                Assert.Equal(one.ExpiryMs != NewValue.NoExpiry && one.ExpiryMs <= test.Clock.Ms ? null : one.Value,
                    test.Get(name));
            if (random.Next(10) == 0) test.Check();
        }
    }

    // A large collection with an expiry: read under its lock, as one without, until its time.
    [Fact]
    public void A_large_collection_is_read_until_its_time()
    {
        using var instance = KvInstance.Start();
        using var client = instance.Connect();
        client.Ok("SADD s " + string.Join(' ', Enumerable.Range(0, 2000)) + " word");
        client.Ok("EXPIRE s 1000");
        Assert.Equal(2001, client.Ok("SCARD s").Integer);
        Assert.Equal(1, client.Ok("SISMEMBER s word").Integer);
        Assert.StartsWith("-WRONGTYPE", client.Command("GET s").ToString(), StringComparison.Ordinal);
        client.Ok("PEXPIRE s 1");
        Eventually.Holds(() => client.Ok("SCARD s").Integer == 0, () => "s lives");
        Assert.Equal(0, client.Ok("SISMEMBER s word").Integer);
    }

    private static ulong AddressOf(TestStore test, string key)
    {
        byte* record = test.Session.Find(test.Session.Key(TestStore.Bytes(key)));
        return test.Store.Log.AddressOf(record);
    }
}
