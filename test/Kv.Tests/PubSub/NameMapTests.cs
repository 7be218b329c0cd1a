using System.Text;
using Kv.Server.PubSub;
using Kv.Tests.Harness;

namespace Kv.Tests.PubSub;

/// <summary>A map by name that never grows all at once.</summary>
public class NameMapTests
{
    private static byte[] Name(int i) => Encoding.ASCII.GetBytes("channel:" + i);

    // A dictionary of a million names is copied whole when it grows: 50 MB in the last step, half a second for its
    // worker.
    [Fact]
    public void A_million_names_come_without_a_large_step_and_go_without_a_trace()
    {
        var map = new NameMap<object>();
        var value = new object();
        byte[][] names = [.. Enumerable.Range(0, 1_000_000).Select(Name)];
        long largest = 0;
        foreach (byte[] name in names)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            map.Add(name, value);
            largest = Math.Max(largest, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        Assert.InRange(largest, 0, 1 << 20);
        Assert.Equal(names.Length, map.Count);
        Assert.True(names.All(name => map.Contains(name)));
        foreach (var (name, _) in map.All) Assert.True(map.Remove(name, out _));
        Assert.Equal((0, 0), (map.Count, map.All.Count()));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(NameMap<object>.PlainMax - 1)]
    [InlineData(NameMap<object>.PlainMax)]
    [InlineData(NameMap<object>.PlainMax + 1)]
    [InlineData(3 * NameMap<object>.PlainMax)]
    public void It_has_what_was_added_and_not_removed(int count)
    {
        var map = new NameMap<string>();
        var model = new Dictionary<string, string>();
        var random = Seed.NewRandom();
        for (int i = 0; i < count; i++)
        {
            map.Add(Name(i), "of " + i);
            model.Add(Encoding.ASCII.GetString(Name(i)), "of " + i);
        }

        for (int i = 0; i < count; i++)
        {
            if (random.Next(2) == 0) continue;
            Assert.True(map.Remove(Name(i), out string? removed) && removed == "of " + i, Seed.Hint);
            Assert.False(map.Remove(Name(i), out _) || map.Contains(Name(i)), Seed.Hint);
            model.Remove(Encoding.ASCII.GetString(Name(i)));
        }

        Assert.Equal(model.Count, map.Count);
        Assert.Equal(model.Keys.Order(), map.Names.Select(Encoding.ASCII.GetString).Order());
        foreach (var (name, value) in model)
            Assert.True(map.TryGet(Encoding.ASCII.GetBytes(name), out string? found) && found == value);
        Assert.False(map.Contains("channel"u8));
    }
}
