using System.Runtime.InteropServices;
using Kv.Storage;

namespace Kv.Tests.Storage;

public sealed unsafe class HoldTests
{
    private static readonly byte* Names = (byte*)NativeMemory.Alloc(64);

    private static void Add(KeyList keys, char name, int database)
    {
        Names[name - 'a'] = (byte)name;
        keys.Add(Names + (name - 'a'), 1, database);
    }

    // One holder read the databases before SWAPDB, another after: what one calls 0 the other calls 1.
    [Fact]
    public void Holders_that_see_swapped_databases_never_wait_in_a_circle()
    {
        var test = new TestStore();     // not disposed when the test fails: two sessions are still in it then
        foreach (int number in new[] { 0, 1 })
        {
            test.Session.Select(number);
            test.Set("a", "v");
        }

        test.Session.GoOffline();
        using var done = new CountdownEvent(2);
        bool stop = false;
        var threads = new List<Thread>();
        for (int i = 0; i < 2; i++)
        {
            threads.Add(new Thread(() =>
            {
                using StoreSession session = test.Store.CreateSession();
                for (int round = 0; round < 4000; round++)
                {
                    session.BeginTurn();
                    session.Keys.Clear();
                    Add(session.Keys, 'a', 0);
                    Add(session.Keys, 'a', 1);
                    using HeldKeys held = session.Hold(session.Keys);
                    Thread.Yield();
                }

                done.Signal();
            }) { IsBackground = true });
        }

        threads.Add(new Thread(() =>
        {
            while (!Volatile.Read(ref stop)) test.Store.Swap(0, 1);
        }) { IsBackground = true });
        threads.ForEach(thread => thread.Start());
        bool ended = done.Wait(TimeSpan.FromSeconds(60));
        Volatile.Write(ref stop, true);
        Assert.True(ended, "two holders wait for each other");
        threads.ForEach(thread => thread.Join());
        test.Check();
        test.Dispose();
    }

    private ref struct TakeWhileOthersWrite(TestStore test, StoreSession other, int rounds) : IManyRead
    {
        public bool First, Second;
        private int _round;

        public void Restart() => _round++;

        // The value of the first key is taken, then another session writes it: the round is void.
        public void Read(int index, in ValueView value)
        {
            if (index == 0) First = value.Exists;
            else Second = value.Exists;
            if (index != 0 || _round > rounds) return;
            test.Store.Budget.Refuse = null;
            Assert.Equal(StoreStatus.Ok, other.Set(other.Key("a"u8), "w"u8));
            test.Store.Budget.Refuse = () => true;
        }
    }

    // Writers spoil the optimistic rounds, and there is no memory to hold the key that is absent.
    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(10)]
    public void A_read_of_many_keys_never_takes_a_lack_of_memory_for_a_lack_of_keys(int spoiledRounds)
    {
        using var test = new TestStore();
        using StoreSession other = test.Store.CreateSession();
        test.Set("a", "v");
        test.Begin();
        other.BeginTurn();
        other.Select(0);
        Assert.Equal(StoreStatus.Ok, other.Set(other.Key("a"u8), "w"u8));
        test.Session.Keys.Clear();
        Add(test.Session.Keys, 'a', 0);
        Add(test.Session.Keys, 'b', 0);
        // No segment that the session could put a placeholder into.
        using StoreSession fresh = test.Store.CreateSession();
        fresh.BeginTurn();
        fresh.Select(0);
        test.Store.Budget.Refuse = () => true;
        var take = new TakeWhileOthersWrite(test, other, spoiledRounds);
        fresh.ReadMany(test.Session.Keys, ref take);
        Assert.True(take.First);
        Assert.False(take.Second);
        test.Store.Budget.Refuse = null;
        Assert.Null(test.Get("b"));
    }
}
