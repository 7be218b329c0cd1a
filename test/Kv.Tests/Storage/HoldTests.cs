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
}
