using Kv.Lua;
using Kv.Tests.Harness;

namespace Kv.Tests.Lua;

/// <summary>Tables against a dictionary: small ones, and those of which a part lies in chunks.</summary>
public sealed class LuaTableTests
{
    private static readonly LuaValue Value = 1;

    [Theory]
    [InlineData(20, 2_000)]
    [InlineData(5_000, 60_000)]
    [InlineData(30_000, 200_000)]
    public void What_was_set_is_there_and_is_visited_once(int keys, int changes)
    {
        Random random = Seed.NewRandom(keys);
        var table = new LuaMachine().NewTable();
        var model = new Dictionary<object, double>();
        // Phases in which the table grows, and others in which it shrinks.
        double share = 0;
        for (int i = 0; i < changes; i++)
        {
            if (i % (changes / 8) == 0)
            {
                CheckVisits(table, model);
                share = random.NextDouble();
            }

            object key = Key(random, keys);
            bool isSet = random.NextDouble() < share;
            table.Set(ValueOf(key), isSet ? i : LuaValue.Nil);
            if (isSet) model[key] = i;
            else model.Remove(key);
            object other = Key(random, keys);
            var found = table.Find(ValueOf(other));
            Assert.True(model.TryGetValue(other, out double value) ? found.Number == value : found.IsNil, Seed.Hint);
        }

        CheckVisits(table, model);
    }

    [Fact]
    public void A_traversal_may_clear_what_it_visits()
    {
        const int count = 10_000;
        var table = new LuaMachine().NewTable();
        for (int i = 0; i < count; i++) table[new LuaString($"key{i}")] = Value;
        var key = LuaValue.Nil;
        int visited = 0;
        for (; table.TryNext(ref key, out _) && !key.IsNil; visited++) table.Set(key, LuaValue.Nil);
        Assert.Equal(count, visited);
        Assert.Equal(0, table.Length);
    }

    private static void CheckVisits(LuaTable table, Dictionary<object, double> model)
    {
        int visited = 0;
        for (int place = 0; table.TryVisit(ref place, out var key, out var value); visited++)
            Assert.True(model.TryGetValue(NameOf(key), out double expected) && value.Number == expected, Seed.Hint);
        Assert.Equal(model.Count, visited);
        visited = 0;
        var next = LuaValue.Nil;
        while (table.TryNext(ref next, out _) && !next.IsNil) visited++;
        Assert.Equal(model.Count, visited);
    }

    // Texts are made anew each time; numbers are small, large, and none that an array could have.
    private static object Key(Random random, int keys)
    {
        int number = random.Next(keys);
        return (number % 4) switch
        {
            0 => $"key{number}",
            1 => (double)(number / 4),
            2 => number + 0.5,
            _ => (double)-number,
        };
    }

    private static LuaValue ValueOf(object key) => key is string text ? new LuaString(text) : (double)key;

    private static object NameOf(in LuaValue key) => key.AsString is { } text ? text.ToString() : key.Number;
}
