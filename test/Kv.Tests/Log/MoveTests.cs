using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Log;

/// <summary>Reclaim moves records that others change as soon as they can.</summary>
/// <remarks>Alone: what is called at the points is the process'.</remarks>
[Collection(Alone.Name)]
public sealed class MoveTests
{
    private const int Hashes = 40, StringsBetween = 160;        // some MB: one segment at least is full

    // Reclaim asked the copy, after publishing it, when its first field expires: by then it could be a string. Of a
    // large hash it followed eight bytes of the string as a pointer, and the process ended.
    [Fact]
    public unsafe void A_record_that_was_moved_is_not_looked_at_any_more()
    {
        using var test = new TestStore();
        using StoreSession other = test.Store.CreateSession();
        for (int i = 0; i < Hashes; i++)
        {
            SetHash(test, "hash" + i);
            for (int j = 0; j < StringsBetween; j++) test.Set($"string{i}:{j}", new string('v', 800));
        }

        for (int i = 0; i < Hashes * StringsBetween; i++)
            Assert.True(test.Delete($"string{i / StringsBetween}:{i % StringsBetween}"));

        // As a packed hash these bytes say that a field expires in some two thousand years.
        byte[] bytes = [30, 0, 1, 0, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F, 0, 0, .. new byte[20]];
        bool hasChanged = false;
        Thread reclaims = Thread.CurrentThread;
        Fault.AtEveryPoint = point =>
        {
            if (hasChanged || point != "reclaim.publish" || Thread.CurrentThread != reclaims) return;
            hasChanged = true;
            other.BeginTurn();
            other.Select(0);
            for (int i = 0; i < Hashes; i++)
                Assert.Equal(StoreStatus.Ok, other.Set(other.Key(TestStore.Bytes("hash" + i)), bytes));
            other.GoOffline();
        };
        try
        {
            test.Settle();
        }
        finally
        {
            Fault.AtEveryPoint = null;
        }

        Assert.True(hasChanged, "no hash was moved");
        List<int> segments = [];
        test.Store.Table[0]!.Segments.CopyTo(segments);
        foreach (int segment in segments) Assert.Equal(long.MaxValue, test.Store.Log.Info(segment)->EarliestExpiryMs);
        for (int i = 0; i < Hashes; i++) Assert.Equal(bytes.Length, test.Get("hash" + i)!.Length);
        test.Check();
    }

    private static void SetHash(TestStore test, string key)
    {
        using HeldKey held = test.Session.Hold(test.Session.Key(TestStore.Bytes(key)), DataType.Hash, 100);
        var hash = new HashValue(held.Value);
        Assert.True(hash.TryReserve(1, 61, 60));
        hash.Set("f"u8, new byte[60]);
        hash.Settle();
    }
}
