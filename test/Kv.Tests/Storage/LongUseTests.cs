using System.Text;
using Kv.Storage;

namespace Kv.Tests.Storage;

/// <summary>Work on one large collection, step by step, and those who meet it half-way.</summary>
public sealed class LongUseTests
{
    private const int Members = 3000, Steps = 5;

    [Fact]
    public void Other_keys_are_free_between_the_steps_and_the_key_itself_when_they_are_done()
    {
        using var test = NewStore();
        using var use = Begin(test, "set", out var work);
        Assert.False(use.Step());
        test.Begin();
        test.Set("other", "value");
        Assert.Equal("value", test.Get("other"));
        Assert.Equal(1, work.Done);
        while (!use.Step())
        {
            // Ends: each step gets on.
        }

        Assert.Equal(Steps, work.Done);
        Assert.Equal(Members, CountOf(test, "set"));
        Assert.Equal(Steps, work.Done);
        test.Check();
    }

    [Theory]
    [InlineData("read")]
    [InlineData("hold")]
    [InlineData("several")]
    [InlineData("transaction")]
    [InlineData("delete")]
    [InlineData("pause")]
    public void Whoever_needs_the_key_does_the_rest_first(string way)
    {
        for (int steps = 0; steps <= Steps; steps++)
        {
            using var test = NewStore();
            using var use = Begin(test, "set", out var work);
            for (int i = 0; i < steps; i++) use.Step();
            test.Begin();
            Meet(test, way);
            Assert.Equal(Steps, work.Done);
            Assert.True(use.Step());
            test.Begin();
            test.Check();
        }
    }

    [Fact]
    public void A_flush_in_the_middle_leaves_the_memory_to_the_work()
    {
        using var test = NewStore();
        using var use = Begin(test, "set", out var work);
        use.Step();
        test.Store.Flush(0);
        test.Begin();
        Assert.Equal(-1, CountOf(test, "set"));
        while (!use.Step())
        {
            // Ends: each step gets on.
        }

        Assert.Equal(Steps, work.Done);
        Assert.Null(use.Failure);
        test.Begin();
        test.Check();
    }

    [Fact]
    public void What_has_changed_nothing_is_given_up_and_what_has_is_done_whole()
    {
        using var test = NewStore();
        var reading = Begin(test, "set", out var read);
        reading.Step();
        reading.Dispose();
        Assert.Equal(1, read.Done);
        test.Begin();
        var changing = Begin(test, "set", out var change, changes: true);
        changing.Step();
        changing.Dispose();
        Assert.Equal(Steps, change.Done);
        test.Begin();
        Assert.Equal(Members, CountOf(test, "set"));
        test.Check();
    }

    [Fact]
    public void Work_that_throws_lets_go_of_the_key()
    {
        using var test = NewStore();
        using var use = Begin(test, "set", out var work);
        work.FailsAt = 2;
        while (!use.Step())
        {
            // Ends: each step gets on.
        }

        Assert.IsType<InvalidOperationException>(use.Failure);
        test.Begin();
        Assert.Equal(Members, CountOf(test, "set"));
        Assert.Equal(2, work.Done);
        test.Check();
    }

    [Fact]
    public unsafe void Several_keys_are_held_to_the_end_of_the_work_absent_ones_too()
    {
        using var test = NewStore();
        byte[] set = "set"u8.ToArray(), absent = "absent"u8.ToArray();
        fixed (byte* first = absent, second = set)
        {
            test.Session.Keys.Clear();
            test.Session.Keys.Add(first, absent.Length, 0);
            test.Session.Keys.Add(second, set.Length, 0);
            test.Session.Keys.Add(second, set.Length, 0);
            var work = new CopyWork();
            IHeldSteps use;
            using (var held = test.Session.Hold(test.Session.Keys)) use = held.TryBeginUse(work)!;
            Assert.False(use.Step());
            test.Begin();
            // Somebody wants the key that is to be made.
            Assert.Equal(Members, CountOf(test, "absent"));
            Assert.True(use.Step());
        }

        test.Begin();
        Assert.Equal(Members, CountOf(test, "set"));
        test.Check();
    }

    // As many as there can be at once; the next one is told to do it in its turn.
    [Fact]
    public void So_many_are_in_steps_at_once_and_no_more()
    {
        const int most = SteppedHolds.UsesMax;
        using var test = new TestStore();
        for (int i = 0; i <= most; i++) Fill(test, $"set:{i}");
        for (int round = 0; round < 3; round++)
        {
            test.Begin();
            var uses = Enumerable.Range(0, most).Select(i => Begin(test, $"set:{i}", out _)).ToArray();
            byte[] last = Encoding.ASCII.GetBytes($"set:{most}");
            using (var held = test.Session.Hold(test.Session.Key(last), DataType.Set))
                Assert.Null(held.TryBeginUse(new Work()));
            Assert.Equal(Members, CountOf(test, $"set:{most}"));
            foreach (var use in uses) use.Dispose();
        }

        test.Begin();
        test.Check();
    }

    private static TestStore NewStore()
    {
        var test = new TestStore();
        Fill(test, "set");
        return test;
    }

    private static void Fill(TestStore test, string key)
    {
        test.Begin();
        using var held = test.Session.Hold(test.Session.Key(Encoding.Latin1.GetBytes(key)), DataType.Set, 8);
        var set = new SetValue(held.Value);
        Assert.True(set.TryReserve(Members, Members * 10, 10, areIntegers: false));
        for (int i = 0; i < Members; i++) set.Add(Encoding.Latin1.GetBytes($"m{i}"));
        set.Settle();
    }

    private static IHeldSteps Begin(TestStore test, string key, out Work work, bool changes = false)
    {
        work = new Work { HasChanged = changes };
        using var held = test.Session.Hold(test.Session.Key(Encoding.Latin1.GetBytes(key)), DataType.Set);
        Assert.Equal(StoreStatus.Ok, held.Status);
        return held.TryBeginUse(work) ?? throw new InvalidOperationException("it was not begun");
    }

    private static unsafe void Meet(TestStore test, string way)
    {
        var session = test.Session;
        byte[] set = "set"u8.ToArray(), other = "other"u8.ToArray();
        fixed (byte* first = set, second = other)
        {
            session.Keys.Clear();
            session.Keys.Add(first, set.Length, 0);
            session.Keys.Add(second, other.Length, 0);
            switch (way)
            {
                case "read":
                    Assert.Equal(Members, CountOf(test, "set"));
                    break;
                case "hold":
                    using (var held = session.Hold(session.Key(set), DataType.Set))
                        Assert.Equal(StoreStatus.Ok, held.Status);
                    break;
                case "several":
                    using (var held = session.Hold(session.Keys)) Assert.True(held.Exists(0));
                    break;
                case "transaction":
                    Assert.Equal(StoreStatus.Ok, session.BeginTransaction(session.Keys));
                    Assert.Equal(Members, CountOf(test, "set"));
                    session.EndTransaction();
                    break;
                case "delete":
                    Assert.True(session.Delete(session.Key(set)));
                    break;
                default:
                    Assert.True(session.TryPauseOthers());
                    session.EndPause();
                    break;
            }
        }
    }

    private static long CountOf(TestStore test, string key)
    {
        scoped var read = new ReadMembers(in test.Session.MemberHash);
        return test.Session.Read(test.Session.Key(Encoding.Latin1.GetBytes(key)), DataType.Set,
            ref read) == StoreStatus.Ok ? read.Count : -1;
    }

    private ref struct ReadMembers(ref readonly KeyHash hash) : IValueRead
    {
        private readonly ref readonly KeyHash _hash = ref hash;

        public long Count { get; private set; }

        public void Read(in ValueView value) => Count = new SetView(value, in _hash).Count;
    }

    /// <summary>Makes the first key a copy of the others, in the third step.</summary>
    private sealed class CopyWork : IHeldUse
    {
        public string WorkName => "a test";

        private int _steps;

        public bool HasChanged => _steps == 3;

        public bool Use(in HeldKeys held)
        {
            Assert.False(held.Exists(0));
            Assert.True(held.Exists(1) && held.Exists(2));
            if (++_steps < 3) return false;
            Assert.Equal(StoreStatus.Ok, held.Copy(2, 0, NewValue.NoExpiry));
            return true;
        }
    }

    private sealed class Work : IHeldUse
    {
        public string WorkName => "a test";

        public bool HasChanged { get; init; }

        public int Done { get; private set; }

        public int FailsAt { get; set; }

        public bool Use(in HeldKeys held)
        {
            Assert.Equal(Members, new SetValue(held.Value(0)).Count);
            Done++;
            if (Done == FailsAt) throw new InvalidOperationException("asked for");
            return Done == Steps;
        }
    }
}
