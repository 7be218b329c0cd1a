using Kv.Server.Network;
using Kv.Server.Sessions;
using Kv.Tests.Commands;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Input that waits: it keeps its bytes, is moved seldom, and has a limit.</summary>
public sealed unsafe class PendingInputTests
{
    [Fact]
    public void It_keeps_its_bytes_however_they_come_and_go()
    {
        var random = Seed.NewRandom(1400);
        for (int round = 0; round < 60; round++)
        {
            var pending = new PendingInput();
            var model = new List<byte>();
            int most = round % 2 == 0 ? 2000 : 200_000;
            for (int step = 0; step < 50; step++)
            {
                byte[] more = new byte[random.Next(1, most)];
                random.NextBytes(more);
                switch (random.Next(4))
                {
                    case 0:
                        pending.Append(more);
                        model.AddRange(more);
                        break;
                    case 1:
                        more.CopyTo(new Span<byte>(pending.Reserve(more.Length), more.Length));
                        pending.Commit(more.Length);
                        model.AddRange(more);
                        break;
                    case 2:     // some were run in their place
                        int run = random.Next(model.Count + 1), last = random.Next(4) == 0 ? random.Next(100) : 0;
                        int left = Math.Max(0, model.Count - run - last);
                        pending.Set(pending.Start + run, left);
                        model = model.GetRange(run, left);
                        Assert.True(pending.IsLong || pending.Capacity <= 2 * left, $"{pending.Capacity} for {left}");
                        break;
                    default:    // they were run elsewhere
                        if (random.Next(4) != 0) break;
                        fixed (byte* bytes = more) pending.Set(bytes, more.Length);
                        model = [.. more];
                        break;
                }

                Assert.True(new ReadOnlySpan<byte>(pending.Start, pending.Length).SequenceEqual(model.ToArray()),
                    $"round {round}, step {step}; {Seed.Hint}");
            }

            pending.Clear();
        }
    }

    // All of it was moved in each turn: of 256 MB behind a BLPOP, run in turns of a millisecond, everybody else of the
    // worker waited for 100 ms at a time.
    [Fact]
    public void No_more_bytes_are_moved_than_are_run()
    {
        const int Bytes = 1 << 20, Run = 100, Arriving = 50;
        var pending = new PendingInput();
        pending.Append(new byte[Bytes]);
        long ran = 0, moved = 0;
        for (int i = 0; pending.Length > 0; i++)
        {
            byte* rest = pending.Start + Math.Min(Run, pending.Length);
            ran += rest - pending.Start;
            pending.Set(rest, pending.Length - (int)(rest - pending.Start));
            if (pending.Length > 0 && pending.Start != rest) moved += pending.Length;
            if (i > Bytes / Run) continue;
            // More may come in between.
            byte* before = pending.Start;
            int length = pending.Length;
            pending.Append(new byte[Arriving]);
            if (pending.Start != before) moved += length;
        }

        Assert.InRange(moved, 0, 2 * ran);
    }

    [Fact]
    public void At_its_limit_there_is_room_for_one_receive_and_past_it_the_client_is_closed()
    {
        const int Receive = 64 * 1024;
        using var kv = KvInstance.Start("--client-query-buffer-limit", $"{long.MaxValue}");
        using var client = new WindowClient(kv);
        var session = new Session(2_000_000, kv.Server, client) { Authenticated = true };
        var pending = new PendingInput();
        // Memory that is not written to is none: only its addresses are taken.
        for (int left = PendingInput.BytesMax; left > 0;)
        {
            int some = Math.Min(left, 256 << 20);
            pending.Reserve(some);
            pending.Commit(some);
            left -= some;
        }

        Assert.True(InputLimit.Allows(session, pending));
        Assert.Equal(0, kv.Server.Counters.InputLimitCloses);
        new Span<byte>(pending.Reserve(Receive), Receive).Clear();
        pending.Commit(1);
        Assert.Equal(PendingInput.BytesMax + 1, pending.Length);
        Assert.False(InputLimit.Allows(session, pending));
        Assert.Equal(1, kv.Server.Counters.InputLimitCloses);
        pending.Clear();
    }

    [Theory]
    [InlineData(true, 2 << 20)]
    [InlineData(false, 1 << 20)]
    public void One_byte_past_the_limit_is_too_much(bool isKnown, int limit)
    {
        using var kv = KvInstance.Start("--client-query-buffer-limit", "2mb");
        using var client = new WindowClient(kv);
        var session = new Session(2_000_000, kv.Server, client) { Authenticated = isKnown };
        var pending = new PendingInput();
        pending.Append(new byte[limit]);
        Assert.True(InputLimit.Allows(session, pending));
        pending.Append(new byte[1]);
        Assert.False(InputLimit.Allows(session, pending));
        pending.Clear();
    }
}
