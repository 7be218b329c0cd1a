using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Index;
using Kv.Tests.Storage;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about addresses, chains and counters.</summary>
public sealed unsafe class MemoryBugs
{
    // M02. What is freed is overwritten in this test, so that whoever still reads it reads nonsense.
    [Fact]
    public void Known_M02_a_segment_is_not_freed_while_a_session_may_hold_an_address_in_it()
    {
        using var test = new TestStore();
        test.Store.Log.PoisonFreed = true;
        test.Set("read", "what the reader holds");
        // its segment is full, and given up
        for (int i = 0; i < 3000; i++) test.Set("key" + i, new string('v', 1000));
        test.Store.Epochs.Advance();
        using StoreSession reader = test.Store.CreateSession();
        reader.BeginTurn();
        byte* record = test.Store.Table[0]!.Index.Find("read"u8, test.Store.Hash.Of("read"u8));
        ulong word = Kv.Storage.Record.ReadWord(record);
        int segment = SegmentedLog.SegmentOf(test.Store.Log.AddressOf(record));

        // Nearly all of it dies, what is alive moves out, and upkeep gets every chance to free it.
        for (int i = 0; i < 3000; i++) test.Delete("key" + i);
        test.Settle();
        for (int i = 0; i < 100; i++) test.Store.Maintain();
        Assert.Equal(SegmentState.Retired, test.Store.Log.Info(segment)->State);
        Assert.True(RecordWord.IsDead(Kv.Storage.Record.ReadWord(record)));
        Assert.Equal("what the reader holds"u8, new ValueView(record, word).Bytes);
        Assert.Equal("read"u8, Kv.Storage.Record.KeyOf(record, word));

        reader.Tick();      // says that it holds nothing
        test.Settle();
        Assert.Equal(SegmentState.Free, test.Store.Log.Info(segment)->State);
        Assert.False("read"u8.SequenceEqual(Kv.Storage.Record.KeyOf(record, word)));
        Assert.Equal("what the reader holds", test.Get("read"));
        test.Check();
    }

    // M10. Chains as no good hash makes them, built, split and emptied.
    [Fact]
    public void Known_M10_every_record_of_a_chain_is_reachable_once_while_it_grows_splits_and_shrinks()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom(10);
        for (int round = 0; round < 5; round++)
        {
            ScanTests.Fill(test, (1UL << random.Next(8, 12)) - 1, random.Next(20, 200));
            test.Check();
            HashSet<string> keys = ScanTests.ScanAll(test);
            foreach (string key in keys)
            {
                Assert.Equal("v", test.Get(key));
                if (random.Next(2) == 0) Assert.True(test.Delete(key));
            }

            test.Check();
            for (int i = 0; i < 3000; i++) test.Set($"other{round}:{i}", "v");
            test.Settle();
            test.Check();
        }
    }

    // M10. The check itself: it stays on in every stress test, so it must notice.
    [Theory]
    [InlineData("cycle", "has a cycle")]
    [InlineData("twice", "has two entries")]
    [InlineData("tag", "the tag of the record")]
    [InlineData("lost", "is not in the index")]
    [InlineData("latched", "is latched")]
    [InlineData("locked", "is dead or locked")]
    public void Known_M10_the_integrity_check_notices_a_broken_chain(string damage, string message)
    {
        using var test = new TestStore();
        ScanTests.Fill(test, 1023, 30);
        test.Check();
        HashIndex index = test.Store.Table[0]!.Index;
        ulong* home = index.Bucket(0);
        uint number = HashBucket.OverflowOf(home[HashBucket.ControlIndex]);
        ulong* second = index.Overflow[number];
        ulong* broken = damage switch
        {
            "cycle" => &second[HashBucket.ControlIndex],
            "twice" => &second[1],
            "latched" => &home[HashBucket.ControlIndex],
            "locked" => (ulong*)test.Store.Log.Pointer(HashBucket.AddressOf(home[0])),
            _ => &home[0],
        };
        ulong before = *broken;
        ulong[] entries = new ReadOnlySpan<ulong>(second, HashBucket.Entries).ToArray();
        // an entry met again would be noticed first
        if (damage == "cycle") new Span<ulong>(second, HashBucket.Entries).Clear();
        *broken = damage switch
        {
            "cycle" => number,
            "twice" => second[0],
            "latched" => before | HashBucket.LatchBit,
            "locked" => before | RecordWord.Lock,
            "tag" => before ^ (1UL << 50),
            _ => 0,
        };

        test.Session.GoOffline();
        var thrown = Assert.Throws<InvalidOperationException>(test.Store.CheckIntegrity);
        *broken = before;
        entries.CopyTo(new Span<ulong>(second, HashBucket.Entries));
        if (damage == "lost") Assert.StartsWith("The store is damaged", thrown.Message, StringComparison.Ordinal);
        else Assert.Contains(message, thrown.Message, StringComparison.Ordinal);
        test.Begin();
        test.Check();
    }

    // M08. Each client ends in two ways at once, so that whoever counts at both counts twice.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Known_M08_no_counter_is_decremented_twice_when_a_client_ends_in_two_ways(string transport)
    {
        const int most = 40;
        using var server = KvInstance.Start("--transport", transport, "--maxclients", most.ToString());
        using var control = server.Connect();
        Random random = Seed.NewRandom(8);
        for (int round = 0; round < 30; round++)
        {
            var clients = new List<RespClient>();
            for (int i = 0; i < 10; i++)
            {
                var client = server.Connect();
                clients.Add(client);
                if (i % 2 == 1) client.Ok($"SETRANGE big{i} 100000 x");
                if (i % 3 != 0) client.Ok("SUBSCRIBE a");
                if (i % 4 == 0) client.Ok("PSUBSCRIBE b*");
            }

            Assert.Equal(11, server.Server.Clients);
            for (int i = 0; i < clients.Count; i++)
            {
                var client = clients[i];
                string address = client.Socket.LocalEndPoint!.ToString()!;
                switch (random.Next(5))
                {
                    case 0:
                        client.Send("QUIT");
                        control.Command($"CLIENT KILL {address}");
                        break;
                    case 1:
                        control.Command($"CLIENT KILL {address}");
                        control.Command($"CLIENT KILL {address}");
                        client.Reset();
                        break;
                    case 2:
                        client.Send([.. RespText.Encode("GET big1"), .. RespText.Encode("UNSUBSCRIBE"),
                            .. RespText.Encode("RESET")]);
                        client.Reset();
                        break;
                    case 3:
                        client.Send("*1\r\n:1\r\n"u8);
                        control.Command($"CLIENT KILL ADDR {address} SKIPME yes");
                        break;
                    default:
                        client.Reset();
                        control.Ok("PUBLISH a message");
                        break;
                }
            }

            Eventually.Holds(() => server.Server.Clients <= 1, () => $"{server.Server.Clients} clients are counted");
            clients.ForEach(client => client.Dispose());
            Assert.Equal("1", control.Info("connected_clients"));
            // What a client was subscribed to ends after it is no longer counted.
            var pubSub = server.Server.PubSub;
            Eventually.Holds(
                () => pubSub is { SubscriberCount: 0, ChannelCount: 0, PatternCount: 0 },
                () => $"{pubSub.SubscriberCount} subscribers, {pubSub.ChannelCount} channels, {pubSub.PatternCount} "
                    + $"patterns");
        }

        Eventually.Holds(() => server.Server.PubSub.MessageBytes == 0,
            () => $"{server.Server.PubSub.MessageBytes} bytes of messages");
        Eventually.Holds(() => server.Server.Store.Stats.ExternalBytes >= 0,
            () => $"{server.Server.Store.Stats.ExternalBytes} bytes of clients");

        // As many places as at the start, no more and no fewer.
        var full = new List<RespClient>();
        try
        {
            while (full.Count <= 2 * most)
            {
                var client = server.Connect();
                full.Add(client);
                if (client.Command("PING").IsError) break;
            }

            Assert.Equal(most, full.Count);     // control is one of them, and the last one was refused
        }
        finally
        {
            full.ForEach(client => client.Dispose());
        }
    }
}
