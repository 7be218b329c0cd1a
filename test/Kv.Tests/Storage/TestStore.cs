using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>A store without a thread of its own, with one session on database 0 and a clock that stands
/// still. Where its keys lie follows from the seed: what fails is repeated by it.</summary>
internal sealed class TestStore : IDisposable
{
    public TestStore(StoreOptions? options = null)
    {
        Store = new Store((options ?? new StoreOptions()) with
        {
            Background = false, Time = Clock, HashSeed = Seed.Value,
        });
        Session = Store.CreateSession();
        Begin();
    }

    public TestClock Clock { get; } = new();
    public Store Store { get; }
    public StoreSession Session { get; }

    public void Begin(int database = 0)
    {
        Session.BeginTurn();
        Session.Select(database);
    }

    public static byte[] Bytes(string text) => Encoding.ASCII.GetBytes(text);

    public void Set(string key, string value) => Assert.Equal(StoreStatus.Ok, TrySet(key, Bytes(value)));

    public StoreStatus TrySet(string key, ReadOnlySpan<byte> value) => Session.Set(Session.Key(Bytes(key)), value);

    public StoreStatus SetWithExpiry(string key, string value, long expiryMs) =>
        Session.Set(Session.Key(Bytes(key)), Bytes(value), default, expiryMs);

    public string? Get(string key)
    {
        var take = default(TakeBytes);
        return Session.Read(Session.Key(Bytes(key)), DataType.String, ref take) == StoreStatus.Ok
            ? Encoding.Latin1.GetString(take.Bytes!)
            : null;
    }

    public bool Delete(string key) => Session.Delete(Session.Key(Bytes(key)));

    /// <summary>Rounds of upkeep while it may win room for a write.</summary>
    public void WaitForRoom()
    {
        // Ends: each round wins room.
        while (Session.AskRoom() == StoreRoom.Soon)
        {
            Session.GoOffline();
            Store.Maintain();
            Begin();
        }
    }

    /// <summary>Rounds of upkeep, with no session online, until nothing changes any more.</summary>
    public void Settle()
    {
        Session.GoOffline();
        // Ends: reclaim only ever shrinks the log, and a round that changes nothing is the last but two.
        for (int quiet = 0; quiet < 3;)
        {
            var before = Store.Stats;
            Store.Maintain();
            quiet = Store.Stats == before ? quiet + 1 : 0;
        }

        Begin();
    }

    public void Check()
    {
        Session.GoOffline();
        Store.CheckIntegrity();
        Begin();
    }

    public void Dispose()
    {
        Session.Dispose();
        Store.Dispose();
    }
}
