using System.Collections.Concurrent;
using System.Net.Sockets;
using Kv.Tests.Harness;
using Kv.Tests.Network;
using Kv.Tests.Storage;

namespace Kv.Tests.Known;

/// <summary>The catalogue's entries about blocking commands.</summary>
public sealed class BlockingBugs(ITestOutputHelper output)
{
    [Fact]
    public void Known_C03_BLMPOP_without_keys_is_refused() => Transcript.Check("""
        > BLMPOP 0 -1 a b
        < -ERR numkeys should be greater than 0
        > BLMPOP 0 0 a LEFT
        < -ERR numkeys should be greater than 0
        > BLMPOP 0 9223372036854775807 a b LEFT
        < -ERR syntax error
        > BZMPOP 0 -1 a b
        < -ERR numkeys should be greater than 0
        """);

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_T05_two_BLPOPs_in_a_pipeline_get_an_element_each_in_order(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var client = server.Connect();
        using var other = server.Connect();
        for (int pushes = 1; pushes <= 2; pushes++)
        {
            byte[] both = [.. RespText.Encode("BLPOP q 0"), .. RespText.Encode("BLPOP q 0"),
                .. RespText.Encode("LLEN q")];
            client.Send(both);
            if (pushes == 1) other.Ok("RPUSH q a b c");
            else foreach (string element in new[] { "a", "b" }) other.Ok($"RPUSH q {element}");
            Assert.Equal("[\"q\" \"a\"]", client.Read().ToString());
            Assert.Equal("[\"q\" \"b\"]", client.Read().ToString());
            Assert.Equal(pushes == 1 ? ":1" : ":0", client.Read().ToString());
            other.Ok("DEL q");
        }
    }

    [Fact]
    public void Known_T05_BLPOP_in_MULTI_acts_at_once() => Transcript.Check("""
        > RPUSH l a
        < :1
        > MULTI
        < +OK
        > BLPOP l 0
        < +QUEUED
        > BLPOP l 0
        < +QUEUED
        > RPUSH l b
        < +QUEUED
        > BLMOVE l l LEFT LEFT 0
        < +QUEUED
        > EXEC
        < [["l" "a"] nil[] :1 "b"]
        > LRANGE l 0 -1
        < ["b"]
        """);

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_T05_BLMOVE_to_a_key_of_another_type_is_answered_and_the_next_one_gets_the_element(
        string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var first = server.Connect();
        using var second = server.Connect();
        using var other = server.Connect();
        first.Send("BLMOVE q s LEFT LEFT 0");
        server.AwaitBlocked(1);
        second.Send("BLPOP q 0");
        server.AwaitBlocked(2);
        other.Ok("SET s v");
        other.Ok("RPUSH q a b");
        Assert.Equal("-WRONGTYPE Operation against a key holding the wrong kind of value", first.Read().ToString());
        Assert.Equal("[\"q\" \"a\"]", second.Read().ToString());
        Assert.Equal("[\"b\"]", other.Ok("LRANGE q 0 -1").ToString());
        first.Send("BLMOVE none s LEFT LEFT 0");        // a wrong destination of nothing is no error: it waits
        server.AwaitBlocked(1);
    }

    // Each element is a number of its own: it is where it was pushed to, or a client got it, or it went to one that was
    // killed or left in that very moment; never to two, never nowhere.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_T06_who_is_killed_unblocked_or_leaves_as_he_is_served_costs_no_element(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        var time = TimeBudget.OfSeconds(3);
        var got = new ConcurrentDictionary<long, int>();
        var ids = new ConcurrentDictionary<long, bool>();
        bool stop = false;
        long pushed = 0, lost = 0, ended = 0;
        var failures = new ConcurrentQueue<Exception>();
        var threads = new List<Thread>();

        Run(random => Push(random));
        Run(random => Push(random));
        for (int i = 0; i < 6; i++) Run(Take);
        Run(Disturb);
        while (time.Continues && failures.IsEmpty) Thread.Sleep(10);
        Volatile.Write(ref stop, true);
        // Those who still wait are let go.
        Eventually.Holds(() =>
        {
            foreach (long id in ids.Keys) Unblock(id);
            return threads.TrueForAll(thread => !thread.IsAlive);
        }, () => "a client waits for ever");
        Assert.True(failures.IsEmpty, $"{failures.FirstOrDefault()} {Seed.Hint}");
        server.AwaitClients(0);     // what the last of them have sent is done, too

        using var last = server.Connect();
        foreach (string key in new[] { "q0", "q1", "q2", "done" })
            foreach (var element in last.Ok($"LRANGE {key} 0 -1").Items!) Count(element);
        long there = got.Count, twice = got.Values.Count(count => count > 1);
        output.WriteLine(
            $"{pushed} pushed, {there} accounted for, {lost} clients left or were killed, {ended} unblocked");
        Assert.Equal(0, twice);
        Assert.InRange(there, pushed - lost, pushed);
        Assert.Equal(0, server.Server.Blocked.Count);
        Assert.False(server.Server.Store.Watches.IsAny);
        server.Server.Store.CheckIntegrity();

        void Run(Action<Random> body)
        {
            var random = Seed.NewRandom(threads.Count);
            var thread = new Thread(() =>
            {
                try
                {
                    while (!Volatile.Read(ref stop)) body(random);
                }
                catch (Exception failure)
                {
                    failures.Enqueue(failure);
                }
            }) { IsBackground = true };
            threads.Add(thread);
            thread.Start();
        }

        void Push(Random random)
        {
            using var client = server.Connect();
            for (int i = 0; i < 200 && !Volatile.Read(ref stop); i++)
            {
                long first = Interlocked.Add(ref pushed, 2) - 2;
                string key = $"q{random.Next(3)}";
                if (random.Next(4) == 0)
                {
                    foreach (string command in new[] { "MULTI", $"RPUSH {key} {first}",
                        $"LPUSH q{random.Next(3)} {first + 1}", "EXEC" }) client.Ok(command);
                }
                else
                {
                    client.Ok($"RPUSH {key} {first} {first + 1}");
                }
            }
        }

        void Take(Random random)
        {
            using var client = server.Connect();
            long id = client.Ok("CLIENT ID").Integer;
            ids[id] = true;
            try
            {
                for (int i = random.Next(50); i >= 0 && !Volatile.Read(ref stop); i--)
                {
                    string timeout = random.Next(3) == 0 ? "0.001" : "0";
                    int form = random.Next(3);
                    client.Send(form switch
                    {
                        0 => $"BLPOP q{random.Next(3)} q{random.Next(3)} {timeout}",
                        1 => $"BLMPOP {timeout} 3 q0 q1 q2 RIGHT COUNT 2",
                        _ => $"BLMOVE q{random.Next(3)} done LEFT RIGHT {timeout}",
                    });
                    var reply = client.TryRead();
                    if (reply == null)
                    {
                        // killed; the reply, of two elements at most, may have been on its way
                        Interlocked.Add(ref lost, 2);
                        return;
                    }

                    if (reply.IsNull || form == 2) continue;        // those that went to "done" are counted there
                    if (reply.IsError) Interlocked.Increment(ref ended);
                    else foreach (var element in Elements(reply)) Count(element);
                }

                if (random.Next(2) != 0) return;
                client.Send("BLMPOP 0 1 q0 LEFT COUNT 2");
                Interlocked.Add(ref lost, 2);
                if (random.Next(2) == 0) client.Reset();
            }
            catch (Exception failure) when (failure is IOException or SocketException or EndOfStreamException)
            {
                Interlocked.Add(ref lost, 2);
            }
            finally
            {
                ids.TryRemove(id, out _);
            }
        }

        void Disturb(Random random)
        {
            long[] all = [.. ids.Keys];
            if (all.Length == 0) return;
            long id = all[random.Next(all.Length)];
            if (random.Next(10) == 0)
            {
                using var client = server.Connect();
                client.Ok($"CLIENT KILL ID {id}");
            }
            else
            {
                Unblock(id);
            }
        }

        void Unblock(long id)
        {
            using var client = server.Connect();
            client.Ok($"CLIENT UNBLOCK {id} {(id % 2 == 0 ? "ERROR" : "TIMEOUT")}");
        }

        static IEnumerable<Reply> Elements(Reply reply) => reply.Items![1].Items ?? [reply.Items[1]];

        void Count(Reply element) => got.AddOrUpdate(element.Integer, 1, (_, count) => count + 1);
    }

    // What a timeout or an unblocking has ended, no push serves, and the other way round: exactly one of the two.
    [Fact]
    public void Known_T06_a_wait_that_times_out_as_an_element_comes_ends_in_one_way()
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock, "--worker-threads", "2");
        using var waiting = server.Connect();
        using var pushing = server.Connect();
        int served = 0;
        for (int round = 0; round < 300; round++)
        {
            waiting.Send("BLPOP q 1");
            server.AwaitBlocked(1);
            pushing.Send("RPUSH q a");
            if (round % 3 == 0) clock.Advance(1000);
            else if (round % 3 == 1) Thread.Yield();
            clock.Advance(1000);
            bool isServed = !waiting.Read().IsNull;
            if (isServed) served++;
            Assert.Equal(":1", pushing.Read().ToString());
            Assert.Equal(isServed ? ":0" : ":1", pushing.Ok("DEL q").ToString());
        }

        output.WriteLine($"{served} of 300 were served");
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Known_T07_what_one_EXEC_pushes_serves_those_who_wait_in_their_order_and_all_in_one_step(
        string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var other = server.Connect();
        var waiting = new List<RespClient>();
        for (int i = 0; i < 8; i++)
        {
            waiting.Add(server.Connect());
            waiting[i].Send(i % 2 == 0 ? "BLPOP a b 0" : "BLPOP b a 0");
            server.AwaitBlocked(i + 1);
        }

        foreach (string command in new[] { "MULTI", "RPUSH a a1 a2", "RPUSH b b1", "LPUSH a a0", "RPUSH b b2", "EXEC" })
            other.Ok(command);
        // Nothing is left when EXEC is answered.
        Assert.Equal(":0", other.Ok("EXISTS a b").ToString());
        Assert.Equal(3, server.Server.Blocked.Count);
        string[] expected = ["[\"a\" \"a0\"]", "[\"a\" \"a1\"]", "[\"a\" \"a2\"]", "[\"b\" \"b1\"]", "[\"b\" \"b2\"]"];
        for (int i = 0; i < 5; i++) Assert.Equal(expected[i], waiting[i].Read().ToString());
        waiting.ForEach(client => client.Dispose());
    }

    [Fact]
    public void Known_T08_ten_thousand_blocked_clients_and_one_push_each_wake_each_once()
    {
        Requires.Linux("many sockets");
        const int clients = 10_000;
        using var kv = KvProcess.Start("--maxclients", "12000");
        using var other = kv.Connect();
        var sockets = new List<Socket>();
        try
        {
            for (int i = 0; i < clients; i++)
            {
                sockets.Add(new Socket(AddressFamily.InterNetwork, SocketType.Stream,
                    ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = 60_000 });
                sockets[i].Connect(kv.EndPoint);
                sockets[i].Send(RespText.Encode(i % 2 == 0 ? $"BLPOP q{i} 0" : $"BLPOP q{i} all 0"));
            }

            Eventually.Holds(() => other.Info("blocked_clients") == "10000",
                () => other.Info("blocked_clients") + " wait");
            for (int i = 0; i < clients; i++) other.Send($"RPUSH {(i % 2 == 0 ? $"q{i}" : "all")} {i}");
            for (int i = 0; i < clients; i++) Assert.Equal(":1", other.Read().ToString());
            var elements = new HashSet<string>();
            byte[] buffer = new byte[256];
            for (int i = 0; i < clients; i++)
            {
                int count = sockets[i].Receive(buffer);
                string reply = Reply.Latin(buffer.AsSpan(0, count));
                Assert.StartsWith("*2\r\n", reply, StringComparison.Ordinal);
                Assert.True(elements.Add(reply.Split("\r\n")[^2]), "an element twice");
                Assert.Equal(0, sockets[i].Available);
            }

            Assert.Equal("0", other.Info("blocked_clients"));
            Assert.Equal(":0", other.Ok("DBSIZE").ToString());
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.TooManyOpenSockets)
        {
            Requires.Missing("10,000 descriptors (ulimit -n)");
        }
        finally
        {
            sockets.ForEach(socket => socket.Dispose());
        }
    }

    [Fact]
    public void Known_T08_a_timeout_of_a_millisecond_and_one_of_1e308_both_behave()
    {
        var clock = new TestClock();
        using var server = KvInstance.Start(clock);
        using var client = server.Connect();
        client.Send("BLPOP q 0.001");
        Eventually.Holds(() => server.Server.Blocked.TimedCount == 1, () => "it does not wait");
        clock.Advance(1);
        Assert.Equal("*-1", client.Read().ToString());
        Assert.Equal("-ERR timeout is out of range", client.Command("BLPOP q 1e308").ToString());
        client.Send("BLPOP q 9000000000000000");       // some hundred million years
        server.AwaitBlocked(1);
        clock.Advance(1L << 40);          // 35 years: further on there are no dates
        Assert.False(client.HasInput);
        using var other = server.Connect();
        other.Ok("RPUSH q a");
        Assert.Equal("[\"q\" \"a\"]", client.Read().ToString());
    }
}
