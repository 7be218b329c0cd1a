using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Expiry;

public sealed unsafe class ExpirySweepTests
{
    // What a writer is doing at the moment when the sweep comes by: the record has its extent, and nothing else yet.
    // The segment was used before, so what stands there is somebody's old bytes.
    [Fact]
    public void A_record_that_is_being_made_is_not_read_by_the_sweep()
    {
        using var test = new TestStore();
        Assert.Equal(StoreStatus.Ok, test.SetWithExpiry("soon", "v", test.Clock.Ms + 1));
        Database database = test.Store.Table[0]!;
        var writer = new SegmentWriter(
            test.Store.Log, test.Store.Budget, test.Store.Epochs, SegmentQueue.Young);
        ulong word = RecordWord.Make(ValueKind.String, RecordWord.LongKey, 8, hasExpiry: true);
        byte* record = writer.Allocate(database.Segments, word, test.Clock.Ms);
        *(long*)(record + 8) = 1;                                       // long ago
        new Span<ulong>(record + 16, 3).Fill(0x0000_1111_1111_1111);    // no address of a key
        test.Store.Log.InfoOf(record)->NoteExpiry(1);

        test.Clock.Advance(5000);
        test.Settle();
        Assert.Null(test.Get("soon"));
        Assert.Equal(0, test.Store.Count(0));
        Kv.Storage.Record.Kill(record, word);
        test.Store.Log.AddDead(record, RecordWord.Size(word));
    }

    [Fact]
    public void The_sweep_removes_what_has_expired_and_comes_back_for_the_rest()
    {
        using var test = new TestStore();
        for (int i = 0; i < 1000; i++) test.SetWithExpiry("key" + i, "v", test.Clock.Ms + 1000 + i * 10);
        for (int second = 1; second <= 12; second++)
        {
            test.Clock.Advance(1000);
            test.Settle();
            long left = Math.Clamp(1000 - (second * 1000L - 1000) / 10 - 1, 0, 1000);
            Assert.Equal(left, test.Store.Count(0));
            Assert.Equal(left, test.Store.CountWithExpiry(0));
            test.Check();
        }

        Assert.Equal(1000, test.Store.Stats.ExpiredKeys);
    }

    [Fact]
    public void The_sweep_is_left_out_while_somebody_holds_it()
    {
        using var test = new TestStore();
        bool isHeld = true;
        test.Store.ExpiryGate = () => isHeld;
        for (int i = 0; i < 100; i++) test.SetWithExpiry("key" + i, "v", test.Clock.Ms + 1);
        test.Clock.Advance(5000);
        test.Settle();
        Assert.Equal((100L, 0L), (test.Store.Count(0), test.Store.Stats.ExpiredKeys));
        isHeld = false;
        test.Clock.Advance(5000);
        test.Settle();
        Assert.Equal((0L, 100L), (test.Store.Count(0), test.Store.Stats.ExpiredKeys));
    }

    // As CLIENT PAUSE holds it. (Redis' unit/pause: nobody sees such keys, and none is removed.)
    [Fact]
    public void Keys_whose_time_has_passed_are_absent_and_stay_while_somebody_holds_their_removal()
    {
        using var test = new TestStore();
        bool isHeld = true;
        test.Store.ExpiryGate = () => isHeld;
        test.SetWithExpiry("key", "v", test.Clock.Ms + 1);
        test.Clock.Advance(1000);
        test.Session.BeginTurn();
        for (int i = 0; i < 2; i++)
        {
            Assert.False(test.Session.Exists(test.Session.Key("key"u8)));
            using (var held = test.Session.Hold(test.Session.Key("key"u8), DataType.Any))
                Assert.Equal(StoreStatus.NotFound, held.Status);
            Assert.Equal((isHeld ? 1L : 0, isHeld ? 0L : 1), (test.Store.Count(0), test.Store.Stats.ExpiredKeys));
            isHeld = false;
        }

        test.Check();
    }

    // A read may find a key expired and remove it; another that is in the middle of the same value keeps what it reads
    // until it is done, and then learns that the key is gone.
    [Fact]
    public void Known_E07_a_read_that_removes_an_expired_key_takes_nothing_from_under_another_read()
    {
        using var test = new TestStore();
        string value = new('v', 3000);
        test.SetWithExpiry("key", value, test.Clock.Ms + 1000);
        test.Settle();
        using var other = test.Store.CreateSession();
        other.BeginTurn();
        other.Select(0);
        var reading = new Interrupted(test, value);
        Assert.Equal(StoreStatus.NotFound, other.Read(other.Key("key"u8), DataType.String, ref reading));
        Assert.Equal(1, reading.Reads);
        other.GoOffline();
        test.Settle();
        Assert.Equal(0, test.Store.Count(0));
        test.Check();
    }

    [Fact]
    public void Known_E02_setting_the_clock_back_revives_nothing()
    {
        using var test = new TestStore();
        test.SetWithExpiry("key", "v", test.Clock.Ms + 1000);
        foreach (long jump in new long[] { 3_600_000, -7_200_000, 86_400_000L * 365, -86_400_000L * 730 })
        {
            test.Clock.Advance(jump);
            test.Begin();
            Assert.Null(test.Get("key"));
        }

        test.Clock.Advance(3000);
        test.Settle();
        Assert.Equal(0, test.Store.Count(0));
    }

    /// <summary>In the middle of the first read, the key expires, another session removes it, and memory is given
    /// back.</summary>
    private ref struct Interrupted(TestStore test, string expected) : IValueRead
    {
        public int Reads;

        public void Read(in ValueView value)
        {
            Reads++;
            test.Clock.Advance(1001);
            test.Begin();
            Assert.Null(test.Get("key"));
            Assert.Equal(1, test.Store.Stats.ExpiredKeys);
            test.Session.GoOffline();
            for (int i = 0; i < 10; i++) test.Store.Maintain();
            Assert.Equal(expected, System.Text.Encoding.ASCII.GetString(value.Bytes));
        }
    }
}
