using System.Text;
using Kv.Server.PubSub;
using Kv.Tests.Commands;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.PubSub;

/// <summary>Patterns that come and go while messages are on their way to them.</summary>
public sealed class PatternMapTests
{
    private const int Many = 300_000, PlainMax = NameMap<Pattern>.PlainMax;

    // The list of all patterns was copied in one turn: 70 ms for a million.
    [Fact]
    public void Publishing_to_very_many_patterns_copies_no_list_of_all()
    {
        var engine = new PubSubEngine(null);
        var one = new RecordingSubscriber();
        for (int i = 0; i < Many; i++)
            engine.Subscribe(SubscriptionKind.Pattern, Name(i), one, one.Subscriptions);
        long largest = 0, steps = 0;
        long before = GC.GetAllocatedBytesForCurrentThread();
        var publishing = engine.BeginPublish("a"u8, "x"u8);
        bool isDone = false;
        // Ends: each step gets on.
        for (; !isDone; steps++)
        {
            isDone = publishing.GoOn("a"u8, "x"u8, mayStop: true);
            long now = GC.GetAllocatedBytesForCurrentThread();
            largest = Math.Max(largest, now - before);
            before = now;
        }

        Assert.Equal(0, publishing.Receivers);
        // Some tens of thousands of patterns a step, in parts of 1,172.
        Assert.InRange(largest, 0, Many * 8 / 4);
        Assert.True(steps > 4, $"{steps} steps");
    }

    // One by one, with joins and leaves in between, across the counts at which the map is split and joined again.
    [Theory]
    [InlineData(0)]
    [InlineData(3)]
    [InlineData(PlainMax - 3)]
    [InlineData(PlainMax)]
    [InlineData(PlainMax + 500)]
    public void A_walk_has_what_was_there_when_it_began_once_each_and_nothing_that_came_later(int count)
    {
        var random = Seed.NewRandom();
        for (int round = 0; round < 20; round++)
        {
            var map = new PatternMap();
            var there = new Dictionary<string, Subscription>();
            var subscriber = new RecordingSubscriber();
            int next = 0;
            for (; next < count; next++) Join(map, there, next, subscriber);
            if (random.Next(2) == 0) Drain(map);      // so that lists of before are there
            var begin = there.Keys.ToHashSet();
            var walk = map.Walk();
            var seen = new List<string>();
            bool emptiesOnce = random.Next(3) == 0;
            int untilChange = random.Next(1, 2000);
            while (walk.TryNext(out var pattern, out _))
            {
                if (pattern != null) seen.Add(Encoding.ASCII.GetString(pattern.Name));
                if (--untilChange > 0) continue;
                untilChange = random.Next(1, 2000);
                if (emptiesOnce)
                {
                    foreach (string name in there.Keys.ToArray()) Leave(map, there, name);
                    emptiesOnce = false;
                }

                for (int i = random.Next(PlainMax / 2); i > 0; i--) Join(map, there, next++, subscriber);
                for (int i = random.Next(20); i > 0 && there.Count > 0; i--) Leave(map, there, there.First().Key);
                // One that left may come back: as a new one.
                for (int i = random.Next(20); i > 0; i--) Join(map, there, random.Next(next + 1), subscriber);
            }

            Assert.True(seen.Count == seen.Distinct().Count(), $"one twice; {Seed.Hint}");
            Assert.True(seen.All(begin.Contains), $"one that was not there; {Seed.Hint}");
            var missed = there.Where(pair => begin.Contains(pair.Key) && !seen.Contains(pair.Key)
                && ((Pattern)pair.Value.Channel).Number < count).ToArray();
            Assert.True(missed.Length == 0, $"{missed.Length} were missed; {Seed.Hint}");
            Assert.Equal(there.Count, map.Count);
        }
    }

    [Fact]
    public void In_EXEC_too_a_message_to_very_many_patterns_leaves_turns_to_others()
    {
        using var instance = KvInstance.Start(new TestClock());
        var engine = instance.Server.PubSub;
        var one = new RecordingSubscriber();
        for (int i = 0; i < Many; i++)
            engine.Subscribe(SubscriptionKind.Pattern, Name(i), one, one.Subscriptions);
        engine.Subscribe(SubscriptionKind.Pattern, "a*"u8, one, one.Subscriptions);
        using var client = new WindowClient(instance);
        client.Run("MULTI");
        foreach (string line in (string[])["SET k 1", "PUBLISH abc x", "PUBLISH none y", "INCR k"]) client.Run(line);
        Assert.Equal("*4\r\n+OK\r\n:1\r\n:0\r\n:2\r\n", client.Run("EXEC"));
        Assert.True(client.Steps > 8, $"{client.Steps} turns");
        Assert.Equal(["x"], one.Payloads);
        engine.UnsubscribeAll(one.Subscriptions);
    }

    private static byte[] Name(int i) => Encoding.ASCII.GetBytes($"pattern:{i}:*");

    private static void Join(PatternMap map, Dictionary<string, Subscription> there, int i, ISubscriber subscriber)
    {
        byte[] name = Name(i);
        string text = Encoding.ASCII.GetString(name);
        if (!there.ContainsKey(text)) there.Add(text, map.Join(name, subscriber));
    }

    private static void Leave(PatternMap map, Dictionary<string, Subscription> there, string name)
    {
        map.Leave(there[name]);
        there.Remove(name);
    }

    private static void Drain(PatternMap map)
    {
        var walk = map.Walk();
        while (walk.TryNext(out _, out _))
        {
        }
    }
}
