using System.Globalization;
using System.Text;
using Kv.Server.PubSub;
using Kv.Tests.Harness;

namespace Kv.Tests.PubSub;

public class PubSubEngineTests
{
    private readonly PubSubEngine _engine = new(null);

    [Fact]
    public void A_message_reaches_the_subscribers_of_its_channel_and_no_others()
    {
        var (one, two, other) = (new RecordingSubscriber(), new RecordingSubscriber(), new RecordingSubscriber());
        Subscribe(one, SubscriptionKind.Channel, "a");
        Subscribe(two, SubscriptionKind.Channel, "a");
        Subscribe(other, SubscriptionKind.Channel, "b");

        Assert.Equal(2, _engine.Publish("a"u8, "x"u8));
        Assert.Equal(["x"], one.Payloads);
        Assert.Equal(["x"], two.Payloads);
        Assert.Empty(other.Received);
        Assert.Equal(0, _engine.MessageBytes);
    }

    [Fact]
    public void Who_subscribes_to_the_channel_and_a_pattern_receives_both()
    {
        var one = new RecordingSubscriber();
        Subscribe(one, SubscriptionKind.Channel, "news.a");
        Subscribe(one, SubscriptionKind.Pattern, "news.*");
        Subscribe(one, SubscriptionKind.Pattern, "old.*");

        Assert.Equal(2, _engine.Publish("news.a"u8, "x"u8));
        Assert.Equal(
            ["*3\r\n$7\r\nmessage\r\n$6\r\nnews.a\r\n$1\r\nx\r\n",
                "*4\r\n$8\r\npmessage\r\n$6\r\nnews.*\r\n$6\r\nnews.a\r\n$1\r\nx\r\n"],
            one.Received);
    }

    [Fact]
    public void Shard_channels_are_a_world_of_their_own()
    {
        var (plain, shard) = (new RecordingSubscriber(), new RecordingSubscriber());
        Subscribe(plain, SubscriptionKind.Channel, "a");
        Subscribe(plain, SubscriptionKind.Pattern, "*");
        Subscribe(shard, SubscriptionKind.ShardChannel, "a");

        Assert.Equal(1, _engine.PublishShard("a"u8, "x"u8));
        Assert.Equal(["*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$1\r\nx\r\n"], shard.Received);
        Assert.Empty(plain.Received);
        Assert.Equal(2, _engine.Publish("a"u8, "y"u8));
        Assert.Single(shard.Received);
    }

    [Fact]
    public void Subscribing_twice_is_one_subscription()
    {
        var one = new RecordingSubscriber();
        Assert.True(_engine.Subscribe(SubscriptionKind.Channel, "a"u8, one, one.Subscriptions));
        Assert.False(_engine.Subscribe(SubscriptionKind.Channel, "a"u8, one, one.Subscriptions));
        Assert.Equal(1, _engine.Publish("a"u8, "x"u8));
        Assert.Single(one.Received);
    }

    [Fact]
    public void After_unsubscribing_nothing_comes_and_the_counts_are_as_before()
    {
        var one = new RecordingSubscriber();
        Subscribe(one, SubscriptionKind.Channel, "a");
        Subscribe(one, SubscriptionKind.Pattern, "a*");
        Subscribe(one, SubscriptionKind.ShardChannel, "a");
        Assert.Equal((1, 1, 1, 1), Counts());

        Assert.True(_engine.Unsubscribe(SubscriptionKind.Channel, "a"u8, one.Subscriptions));
        Assert.False(_engine.Unsubscribe(SubscriptionKind.Channel, "a"u8, one.Subscriptions));
        Assert.True(_engine.Unsubscribe(SubscriptionKind.Pattern, "a*"u8, one.Subscriptions));
        Assert.Equal((0, 0, 1, 1), Counts());
        Assert.True(_engine.Unsubscribe(SubscriptionKind.ShardChannel, "a"u8, one.Subscriptions));
        Assert.Equal((0, 0, 0, 0), Counts());
        Assert.Equal(0, _engine.Publish("a"u8, "x"u8));
        Assert.Equal(0, _engine.PublishShard("a"u8, "x"u8));
        Assert.Empty(one.Received);
    }

    [Fact]
    public void One_in_the_middle_of_a_channels_list_can_leave()
    {
        var all = Enumerable.Range(0, 5).Select(_ => new RecordingSubscriber()).ToArray();
        foreach (var each in all) Subscribe(each, SubscriptionKind.Channel, "a");
        foreach (int leaving in (int[])[2, 0, 4])
        {
            _engine.UnsubscribeAll(all[leaving].Subscriptions);
            _engine.Publish("a"u8, "x"u8);
        }

        Assert.Equal([1, 3, 0, 3, 2], all.Select(each => each.Received.Count));
        Assert.Equal(2, _engine.SubscribersOf("a"u8, shard: false));
    }

    [Fact]
    public void Names_of_every_length_and_byte_are_told_apart()
    {
        var one = new RecordingSubscriber();
        byte[][] names = [[], [0], [0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1], [255], [13, 10]];
        foreach (byte[] name in names)
            Assert.True(_engine.Subscribe(SubscriptionKind.Channel, name, one, one.Subscriptions));
        Assert.Equal(names.Length, _engine.ChannelCount);
        foreach (byte[] name in names) Assert.Equal(1, _engine.Publish(name, "x"u8));
    }

    // Publishers number their messages; one subscriber stays throughout, others come and go.
    [Fact]
    public async Task Known_B04_messages_reach_who_stays_in_order_while_others_come_and_go()
    {
        const int Publishers = 3, Messages = 3000;
        var (steady, byPattern) = (new RecordingSubscriber(), new RecordingSubscriber());
        Subscribe(steady, SubscriptionKind.Channel, "a");
        Subscribe(byPattern, SubscriptionKind.Pattern, "[ab]");

        using var stop = new CancellationTokenSource();
        var comers = Enumerable.Range(0, 3)
            .Select(thread => Task.Run(() => ComeAndGo(Seed.NewRandom(thread), stop.Token))).ToArray();
        var publishers = Enumerable.Range(0, Publishers).Select(publisher => Task.Run(() =>
        {
            for (int i = 0; i < Messages; i++) _engine.Publish("a"u8, Encoding.ASCII.GetBytes($"{publisher}:{i}"));
        })).ToArray();
        await Task.WhenAll(publishers);
        await stop.CancelAsync();
        await Task.WhenAll(comers);

        foreach (var subscriber in (RecordingSubscriber[])[steady, byPattern])
        {
            var next = new int[Publishers];
            foreach (string payload in subscriber.Payloads)
            {
                int[] parts = [.. payload.Split(':').Select(part => int.Parse(part, CultureInfo.InvariantCulture))];
                Assert.True(next[parts[0]]++ == parts[1], $"{payload} came out of order; {Seed.Hint}");
            }
            Assert.All(next, count => Assert.Equal(Messages, count));
        }

        _engine.UnsubscribeAll(steady.Subscriptions);
        _engine.UnsubscribeAll(byPattern.Subscriptions);
        Assert.Equal((0, 0, 0, 0), Counts());
        Assert.Equal(0, _engine.MessageBytes);
    }

    // Two subscribers of a channel and two publishers: both see one order.
    [Fact]
    public async Task All_subscribers_of_a_channel_receive_its_messages_in_one_order()
    {
        var (one, two) = (new RecordingSubscriber(), new RecordingSubscriber());
        Subscribe(one, SubscriptionKind.Channel, "a");
        Subscribe(two, SubscriptionKind.Channel, "a");
        await Task.WhenAll(Enumerable.Range(0, 2).Select(publisher => Task.Run(() =>
        {
            for (int i = 0; i < 2000; i++) _engine.Publish("a"u8, Encoding.ASCII.GetBytes($"{publisher}:{i}"));
        })));
        Assert.Equal(4000, one.Received.Count);
        Assert.Equal(one.Received, two.Received);
    }

    // What Leave promises: once it has returned, nothing more is pushed.
    [Fact]
    public async Task Nothing_is_pushed_to_one_who_has_left()
    {
        using var stop = new CancellationTokenSource();
        var publisher = Task.Run(() =>
        {
            while (!stop.IsCancellationRequested) _engine.Publish("a"u8, "x"u8);
        });
        for (int round = 0; round < 2000; round++)
        {
            var one = new RecordingSubscriber();
            Subscribe(one, SubscriptionKind.Channel, "a");
            Subscribe(one, SubscriptionKind.Pattern, "?");
            _engine.UnsubscribeAll(one.Subscriptions);
            int received = one.Received.Count;
            Thread.Yield();
            Assert.Equal(received, one.Received.Count);
        }
        await stop.CancelAsync();
        await publisher;
    }

    private void ComeAndGo(Random random, CancellationToken stop)
    {
        var present = new Queue<RecordingSubscriber>();
        while (!stop.IsCancellationRequested)
        {
            var subscriber = new RecordingSubscriber();
            Subscribe(subscriber, (SubscriptionKind)random.Next(3), random.Next(2) == 0 ? "a" : "[ab]");
            Subscribe(subscriber, SubscriptionKind.Channel, "a");
            present.Enqueue(subscriber);
            if (present.Count > random.Next(20)) Leave(present.Dequeue());
        }
        while (present.TryDequeue(out var subscriber)) Leave(subscriber);

        void Leave(RecordingSubscriber subscriber)
        {
            if (random.Next(2) == 0) _engine.Unsubscribe(SubscriptionKind.Channel, "a"u8, subscriber.Subscriptions);
            _engine.UnsubscribeAll(subscriber.Subscriptions);
        }
    }

    private void Subscribe(RecordingSubscriber subscriber, SubscriptionKind kind, string name) =>
        _engine.Subscribe(kind, Encoding.ASCII.GetBytes(name), subscriber, subscriber.Subscriptions);

    private (long, long, long, long) Counts() =>
        (_engine.ChannelCount, _engine.PatternCount, _engine.ShardChannelCount, _engine.SubscriberCount);
}
