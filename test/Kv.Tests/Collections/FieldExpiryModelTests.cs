using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Collections;

/// <summary>Fields that expire against a dictionary of values with times, across every layout, while the clock
/// jumps.</summary>
public sealed unsafe class FieldExpiryModelTests
{
    private readonly record struct Field(string Value, long ExpiryMs);

    [Theory]
    [InlineData(1, 20, 20_000)]
    [InlineData(2, 300, 40_000)]
    [InlineData(3, 8_000, 100_000)]
    public void A_hash_whose_fields_expire_behaves_as_its_model_does(int seed, int fields, int steps)
    {
        using var test = new TestStore(new StoreOptions { PackedLimits = { HashEntries = 60, HashBytes = 40 } });
        Random random = Seed.NewRandom(seed);
        var model = new Dictionary<string, Field>();
        for (int step = 0; step < steps; step++)
        {
            string field = random.Next(fields) + (random.Next(200) == 0 ? new string('x', random.Next(300)) : "");
            string value = new((char)('a' + random.Next(26)),
                random.Next(300) == 0 ? random.Next(3000) : random.Next(30));
            switch (random.Next(12))
            {
                case < 4:
                    bool keep = random.Next(3) == 0;
                    long kept = keep && model.TryGetValue(field, out var old) ? old.ExpiryMs : FieldExpiry.None;
                    Assert.Equal(!model.ContainsKey(field), Set(test, field, value, keep));
                    model[field] = new Field(value, kept);
                    break;
                case < 8:
                    long expiryMs = test.Clock.Ms + random.Next(-2, random.Next(2) == 0 ? 50 : 5000);
                    var rule = (FieldExpiryRule)random.Next(5);
                    var expected = Expect(model, field, expiryMs, rule, test.Clock.Ms);
                    Assert.Equal(expected, SetExpiry(test, field, expiryMs, rule));
                    if (expected == FieldExpiryStatus.Changed) model[field] = model[field] with { ExpiryMs = expiryMs };
                    if (expected == FieldExpiryStatus.Removed) model.Remove(field);
                    break;
                case 8:
                    Assert.Equal(!model.TryGetValue(field, out old) ? FieldExpiryStatus.NoField
                        : old.ExpiryMs == FieldExpiry.None ? FieldExpiryStatus.Unchanged : FieldExpiryStatus.Changed,
                        Persist(test, field));
                    if (model.TryGetValue(field, out old)) model[field] = old with { ExpiryMs = FieldExpiry.None };
                    break;
                case 9:
                    Assert.Equal(model.Remove(field), Remove(test, field));
                    break;
                case 10:
                    test.Clock.Advance(random.Next(40) == 0 ? random.Next(5000) : random.Next(5));
                    test.Begin();
                    foreach (string gone in model.Where(pair => FieldExpiry.IsPast(pair.Value.ExpiryMs, test.Clock.Ms))
                        .Select(pair => pair.Key).ToList()) model.Remove(gone);
                    break;
                default:
                    Assert.Equal(model.TryGetValue(field, out old) ? old : null, Get(test, field));
                    break;
            }

            if (step % (steps / 40) != 0) continue;
            if (random.Next(2) == 0) MoveThere(test, random.Next(3));
            if (random.Next(2) == 0) test.Settle();
            Check(test, model, random);
        }

        foreach (string field in model.Keys) SetExpiry(test, field, test.Clock.Ms + 1, FieldExpiryRule.Always);
        test.Clock.Advance(10_000);
        test.Settle();
        Assert.Equal(0, test.Store.Count(0));
        Assert.Equal(0, test.Store.CountWithFieldExpiry(0));
        test.Check();
        Assert.Equal(0, test.Store.Budget.BlockBytes);
    }

    [Fact]
    public void Every_refused_allocation_leaves_fields_and_their_expiries_as_they_were()
    {
        int refused = 0;
        for (int nth = 1; nth <= 8; nth++)
        {
            using var test = new TestStore(new StoreOptions { PackedLimits = { HashEntries = 60, HashBytes = 40 } });
            Random random = Seed.NewRandom(nth);
            var model = new Dictionary<string, Field>();
            int calls = 0;
            test.Store.Budget.Refuse = () => ++calls % nth == 0;
            for (int step = 0; step < 3000; step++)
            {
                string field = "field" + random.Next(step < 1000 ? 40 : 600), value = new('v', random.Next(60));
                long expiryMs = test.Clock.Ms + 1 + random.Next(100_000);
                try
                {
                    if (random.Next(2) == 0)
                    {
                        Set(test, field, value, keepExpiry: true);
                        model[field] = new Field(value,
                            model.TryGetValue(field, out var old) ? old.ExpiryMs : FieldExpiry.None);
                    }
                    else if (SetExpiry(test, field, expiryMs, FieldExpiryRule.Always) == FieldExpiryStatus.Changed)
                    {
                        model[field] = model[field] with { ExpiryMs = expiryMs };
                    }
                }
                catch (OutOfMemoryException)
                {
                    refused++;
                }
            }

            test.Store.Budget.Refuse = null;
            if (model.Count > 0) Check(test, model, random);
        }

        Assert.True(refused > 1000, $"only {refused} were refused");
    }

    // All that a packed hash can become too long for, at once: the expiries are what makes it so.
    [Fact]
    public void A_run_that_expiries_make_too_long_becomes_a_table()
    {
        using var test = new TestStore(new StoreOptions { PackedLimits = { HashEntries = 4096, HashBytes = 64 } });
        var model = new Dictionary<string, Field>();
        for (int i = 0; i < 2500; i++)
        {
            Set(test, "field" + i, new string('v', 12), keepExpiry: false);
            model["field" + i] = new Field(new string('v', 12), FieldExpiry.None);
        }

        using (HeldKey held = Hold(test)) Assert.True(new HashValue(held.Value).View.IsPacked);
        for (int i = 0; i < 2500; i++)
        {
            SetExpiry(test, "field" + i, test.Clock.Ms + 1000 + i, FieldExpiryRule.Always);
            model["field" + i] = model["field" + i] with { ExpiryMs = test.Clock.Ms + 1000 + i };
        }

        using (HeldKey held = Hold(test)) Assert.False(new HashValue(held.Value).View.IsPacked);
        Check(test, model, Seed.NewRandom(1));
    }

    private static FieldExpiryStatus Expect(Dictionary<string, Field> model, string field, long expiryMs,
        FieldExpiryRule rule, long nowMs)
    {
        if (!model.TryGetValue(field, out var there)) return FieldExpiryStatus.NoField;
        bool has = there.ExpiryMs != FieldExpiry.None, allowed = rule switch
        {
            FieldExpiryRule.IfNone => !has,
            FieldExpiryRule.IfAny => has,
            FieldExpiryRule.IfLater => has && expiryMs > there.ExpiryMs,
            FieldExpiryRule.IfEarlier => !has || expiryMs < there.ExpiryMs,
            _ => true,
        };
        return !allowed ? FieldExpiryStatus.Unchanged : expiryMs <= nowMs
            ? FieldExpiryStatus.Removed : FieldExpiryStatus.Changed;
    }

    private static void Check(TestStore test, Dictionary<string, Field> model, Random random)
    {
        test.Check();
        Assert.Equal(model.Values.Any(field => field.ExpiryMs != FieldExpiry.None) ? 1 : 0, CountedAfterRemoval(test));
        using HeldKey held = Hold(test);
        Assert.Equal(model.Count > 0 ? StoreStatus.Ok : StoreStatus.NotFound, held.Status);
        if (model.Count == 0) return;
        HashView hash = new HashValue(held.Value).View;
        Assert.Equal(model.Count, hash.Count);      // after removal
        var found = new Dictionary<string, Field>();
        var walk = hash.GetWalk();
        while (walk.Next(out var field, out var value, out long expiryMs))
            found.Add(Encoding.ASCII.GetString(field), new Field(Encoding.ASCII.GetString(value), expiryMs));
        Assert.Equal(model.OrderBy(pair => pair.Key, StringComparer.Ordinal),
            found.OrderBy(pair => pair.Key, StringComparer.Ordinal));
        var met = new HashSet<string>();
        var visit = new Collect(met);
        for (ulong cursor = hash.Scan(0, ref visit); cursor != 0;) cursor = hash.Scan(cursor, ref visit);
        Assert.True(met.SetEquals(model.Keys));
        var dice = new Dice((ulong)random.NextInt64());
        Assert.True(new HashValue(held.Value).TryRandom(ref dice, out var drawn, out _));
        Assert.Contains(Encoding.ASCII.GetString(drawn), model.Keys);
    }

    private static long CountedAfterRemoval(TestStore test)
    {
        using (HeldKey held = Hold(test))
            if (held.Status == StoreStatus.Ok) new HashValue(held.Value).RemoveExpired();
        return test.Store.CountWithFieldExpiry(0);
    }

    private static HeldKey Hold(TestStore test, int expectedBytes = -1)
    {
        test.Begin();
        return test.Session.Hold(test.Session.Key("h"u8), DataType.Hash, expectedBytes);
    }

    private static bool Set(TestStore test, string field, string value, bool keepExpiry)
    {
        int bytes = field.Length + value.Length, longest = Math.Max(field.Length, value.Length);
        using HeldKey held = Hold(test, HashValue.ExpectedBytes(1, bytes, longest));
        if (held.Status != StoreStatus.Ok) throw new OutOfMemoryException();
        var hash = new HashValue(held.Value);
        if (!hash.TryReserve(1, bytes, longest)) throw new OutOfMemoryException();
        bool created = hash.Set(TestStore.Bytes(field), TestStore.Bytes(value), keepExpiry);
        hash.Settle();
        return created;
    }

    private static FieldExpiryStatus SetExpiry(TestStore test, string field, long expiryMs, FieldExpiryRule rule)
    {
        using HeldKey held = Hold(test);
        if (held.Status != StoreStatus.Ok) return FieldExpiryStatus.NoField;
        var hash = new HashValue(held.Value);
        long bytes = 0;
        var asked = hash.AskExpiry(TestStore.Bytes(field), expiryMs, rule, ref bytes);
        if (asked == FieldExpiryStatus.Changed && !hash.TryReserveExpiries(bytes)) throw new OutOfMemoryException();
        var status = hash.SetExpiry(TestStore.Bytes(field), expiryMs, rule);
        Assert.Equal(asked, status);
        hash.Settle();
        return status;
    }

    private static FieldExpiryStatus Persist(TestStore test, string field)
    {
        using HeldKey held = Hold(test);
        return held.Status == StoreStatus.Ok ? new HashValue(held.Value).Persist(TestStore.Bytes(field))
            : FieldExpiryStatus.NoField;
    }

    private static bool Remove(TestStore test, string field)
    {
        using HeldKey held = Hold(test);
        if (held.Status != StoreStatus.Ok) return false;
        var hash = new HashValue(held.Value);
        bool removed = hash.Remove(TestStore.Bytes(field));
        hash.Settle();
        return removed;
    }

    private static Field? Get(TestStore test, string field)
    {
        using HeldKey held = Hold(test);
        if (held.Status != StoreStatus.Ok) return null;
        return new HashValue(held.Value).View.TryGet(TestStore.Bytes(field), out var value, out long expiryMs)
            ? new Field(Encoding.ASCII.GetString(value), expiryMs) : null;
    }

    /// <summary>Renames the hash and back; or copies it, deletes it and renames the copy; or gives the key an expiry
    /// that does not come.</summary>
    private static void MoveThere(TestStore test, int way)
    {
        test.Begin();
        byte[] names = [(byte)'h', (byte)'i'];
        fixed (byte* start = names)
        {
            test.Session.Keys.Clear();
            test.Session.Keys.Add(start, 1, 0);
            test.Session.Keys.Add(start + 1, 1, 0);
            using HeldKeys held = test.Session.Hold(test.Session.Keys);
            if (!held.Exists(0)) return;
            if (way == 0)
            {
                Assert.Equal(StoreStatus.Ok, held.Move(0, 1));
                Assert.Equal(StoreStatus.Ok, held.Move(1, 0));
            }
            else if (way == 1)
            {
                Assert.Equal(StoreStatus.Ok, held.Copy(0, 1, NewValue.NoExpiry));
                Assert.True(held.Delete(0));
                Assert.Equal(StoreStatus.Ok, held.Move(1, 0));
            }
            else
            {
                var expire = new ExpireAt(test.Clock.Ms + 1_000_000_000);
                Assert.Equal(StoreStatus.Ok, held.Update(0, DataType.Any, ref expire));
            }
        }
    }

    private readonly struct Collect(HashSet<string> met) : IMemberVisit
    {
        public void Visit(byte* item) => met.Add(Encoding.ASCII.GetString(MemberItem.MemberOf(item)));
    }
}
