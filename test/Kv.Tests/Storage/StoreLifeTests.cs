using Kv.Storage;

namespace Kv.Tests.Storage;

public sealed class StoreLifeTests
{
    [Fact]
    public void A_store_with_a_thread_of_its_own_starts_and_ends_many_times()
    {
        for (int i = 0; i < 50; i++)
        {
            using var store = new Store(new StoreOptions());
            using StoreGuard guard = store.Enter();
            Assert.Equal(StoreStatus.Ok, guard.Session.Set(guard.Session.Key("key"u8), "v"u8));
        }
    }

    [Fact]
    public void A_guard_that_cannot_be_had_costs_no_place()
    {
        using var store = new Store(new StoreOptions { SessionsMax = 8, Background = false });
        var sessions = new List<StoreSession>();
        for (int i = 0; i < 7; i++) sessions.Add(store.CreateSession());
        for (int i = 0; i < 5; i++) Assert.Throws<InvalidOperationException>(() => store.Enter().Dispose());
        foreach (StoreSession session in sessions) session.Dispose();
        using StoreGuard first = store.Enter();
        using StoreGuard second = store.Enter();
        Assert.False(first.Session.Exists(first.Session.Key("key"u8)));
        Assert.Throws<InvalidOperationException>(() =>
        {
            for (int i = 0; i < 8; i++) sessions.Add(store.CreateSession());
        });
        foreach (StoreSession session in sessions.Skip(7)) session.Dispose();
    }
}
