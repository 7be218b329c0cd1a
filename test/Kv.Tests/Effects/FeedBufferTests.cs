using System.Text;
using Kv.Server.Effects;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>What one session puts into its buffer is what the feed takes from it, in runs of any length.</summary>
public class FeedBufferTests
{
    /// <summary>Of a run, and of what is around a word of five digits' length in a command.</summary>
    private const int HeadsBytes = 24 + 23;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task What_was_put_in_comes_out(bool isBeside)
    {
        for (int round = 0; round < 30; round++)
        {
            long charged = 0;
            using var feed = new Feed(_ => { }, bytes => Interlocked.Add(ref charged, bytes),
                error => Assert.Fail(error.ToString()));
            var buffer = new FeedBuffer(feed);
            var entries = Draw(Seed.NewRandom(Seed.Value, round));
            var random = Seed.NewRandom(Seed.Value, 1000 + round);
            if (isBeside)
            {
                var writing = Task.Run(() => Put(buffer, entries, 0, entries.Count));
                int taken = 0;
                // Ends: with the last entry, which the writer puts in whatever is taken.
                while (taken < entries.Count && (buffer.FirstTicket != 0 || !writing.IsFaulted))
                    taken = TakeSome(buffer, entries, taken, random);
                await writing;
            }
            else
            {
                for (int put = 0, taken = 0; taken < entries.Count;)
                {
                    int more = Math.Min(entries.Count - put, random.Next(200));
                    Put(buffer, entries, put, more);
                    put += more;
                    for (int times = random.Next(8); times > 0; times--)
                        taken = TakeSome(buffer, entries, taken, random);
                }
            }

            Assert.Equal(0, buffer.FirstTicket);
            // What has been read is let go of, but for the chunk that the next entry goes to.
            Assert.InRange(feed.QueuedBytes, 0, FeedBuffer.ChunkBytes);
            // And what is charged is that and chunks that wait to be used again.
            Assert.InRange(charged, feed.QueuedBytes, 65 * FeedBuffer.ChunkBytes);
        }
    }

    // Chunks hang on one another: the first one, if anybody keeps it, keeps all that ever were.
    [Fact]
    public void What_has_been_read_takes_no_memory()
    {
        if (OwnProcess.Ran()) return;
        const int Entries = 40_000, Bytes = 1000;
        using var feed = new Feed(_ => { }, _ => { }, error => Assert.Fail(error.ToString()));
        var buffer = new FeedBuffer(feed);
        long before = GC.GetTotalMemory(forceFullCollection: true);
        for (int ticket = 1; ticket <= Entries; ticket++)
        {
            buffer.Begin(ticket, FeedRunKind.Commands, database: 0, Bytes).Fill((byte)'x');
            buffer.End(Bytes);
        }

        // Ends: each round takes what there is of a chunk.
        while (buffer.FirstTicket is var first and not 0)
            buffer.Take(first - 1, mark: long.MaxValue, out _, out _, out _);
        long kept = GC.GetTotalMemory(forceFullCollection: true) - before;
        Assert.True(kept < Entries * Bytes / 5, $"{kept} bytes are kept of {Entries * Bytes}");
        GC.KeepAlive(buffer);
    }

    private static List<Entry> Draw(Random random)
    {
        var entries = new List<Entry>();
        long ticket = random.Next(1, 100);
        int most = random.Next(3) switch { 0 => 12, 1 => 300, _ => 3 * FeedBuffer.ChunkBytes }, database = 0;
        // Some 2 MB, of short entries or of long ones.
        for (int bytes = 0; bytes < 2_000_000 && entries.Count < 20_000; ticket += random.Next(8) == 0 ? 2 : 1)
        {
            if (random.Next(50) == 0) database = random.Next(3);
            var kind = random.Next(20) switch
            {
                0 => FeedRunKind.Whole,
                1 => FeedRunKind.Effects,
                _ => FeedRunKind.Commands,
            };
            var effects = new EffectBytes();
            for (int count = kind == FeedRunKind.Commands ? 1 : random.Next(3); count > 0; count--)
            {
                // At times as long as just fills a chunk, or a byte off that.
                int length = most > FeedBuffer.ChunkBytes && random.Next(4) == 0
                    ? FeedBuffer.ChunkBytes - HeadsBytes + random.Next(-1, 2) : random.Next(1, most);
                effects.AddCommand(database, "SET"u8, Encoding.ASCII.GetBytes(new string('v', length)));
            }

            entries.Add(new Entry(ticket, kind, database, effects));
            bytes += effects.Span.Length;
        }

        return entries;
    }

    private static void Put(FeedBuffer buffer, List<Entry> entries, int from, int count)
    {
        foreach (var (ticket, kind, database, effects) in entries.GetRange(from, count))
        {
            if (kind != FeedRunKind.Commands)
            {
                buffer.Add(ticket, effects, kind == FeedRunKind.Whole);
                continue;
            }

            var command = effects.Span[EffectBytes.HeadBytes..];
            command.CopyTo(buffer.Begin(ticket, kind, database, command.Length));
            buffer.End(command.Length);
        }
    }

    /// <returns>How many have been taken so far.</returns>
    private static int TakeSome(FeedBuffer buffer, List<Entry> entries, int taken, Random random)
    {
        long first = buffer.FirstTicket;
        if (first == 0) return taken;
        Assert.True(first == entries[taken].Ticket, Seed.Hint);
        int most = random.Next(4) == 0 ? random.Next(1, 5) : int.MaxValue;
        var run = buffer.Take(first - 1, first - 1 + most, out int count, out var kind, out int database);
        Assert.True(count >= 1 && count <= most, Seed.Hint);
        for (int i = 0; i < count; i++)
        {
            var entry = entries[taken + i];
            Assert.True(entry.Ticket == first + i && entry.Kind == kind, Seed.Hint);
            var bytes = entry.Effects.Span;
            if (kind == FeedRunKind.Commands)
            {
                Assert.True(entry.Database == database, Seed.Hint);
                bytes = bytes[EffectBytes.HeadBytes..];
            }

            Assert.True(run.StartsWith(bytes), Seed.Hint);
            run = run[bytes.Length..];
        }

        Assert.True(run.IsEmpty, Seed.Hint);
        return taken + count;
    }

    private sealed record Entry(long Ticket, FeedRunKind Kind, int Database, EffectBytes Effects);
}
