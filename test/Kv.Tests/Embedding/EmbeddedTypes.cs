using System.Text;
using Kv.Storage;

namespace Kv.Tests.Embedding;

/// <summary>The fourth program of docs/embedding.md.</summary>
internal static class EmbeddedTypes
{
    public static void Run(TextWriter output)
    {
        // begin
        using var store = new Store(new StoreOptions());
        using var elements = new ElementBuffer();       // used again and again
        using var scores = new ScoreBuffer();
        using var entries = new EntryBuffer();

        using (var guard = store.Enter())
        {
            var session = guard.Session;
            session.Hashes.Set("user:7"u8, "name"u8, "Ada"u8);
            session.Hashes.Increment("user:7"u8, "visits"u8, 3, out long visits);
            session.Hashes.SetExpiry("user:7"u8, "visits"u8, session.NowMs + 60_000, FieldExpiryRule.Always, out _);
            if (session.Hashes.Get("user:7"u8, "name"u8, out var name) == StoreStatus.Ok)
            {
                using (name) output.WriteLine($"{Encoding.UTF8.GetString(name.Span)}, {visits} visits");
            }

            session.Lists.Push("jobs"u8, ListEnd.Left, "first"u8);
            session.Lists.Push("jobs"u8, ListEnd.Left, "second"u8);
            // one step: never in both, never in none
            session.Lists.Move("jobs"u8, ListEnd.Right, "taken"u8, ListEnd.Left, out var job);
            using (job) output.WriteLine(Encoding.UTF8.GetString(job.Span));

            session.Sets.Add("red"u8, "apple"u8);
            session.Sets.Add("red"u8, "rose"u8);
            session.Sets.Add("fruit"u8, "apple"u8);
            session.Sets.Combine(SetOperation.Intersection, ["red"u8.ToArray(), "fruit"u8.ToArray()], elements);
            output.WriteLine($"{elements.Count}: {Encoding.UTF8.GetString(elements[0])}");

            session.SortedSets.Set("points"u8, "Ada"u8, 12);
            session.SortedSets.Increment("points"u8, "Bob"u8, 20.5, out _);
            session.SortedSets.GetRange("points"u8, 0, 9, scores, descending: true);
            for (int i = 0; i < scores.Count; i++)
                output.WriteLine($"{i + 1}. {Encoding.UTF8.GetString(scores.Member(i))} {scores.Score(i)}");

            session.StreamGroups.Create("log"u8, "readers"u8, StreamId.Zero, out _);
            session.Streams.Add("log"u8, "event"u8, "start"u8, out var started);
            session.Streams.Add("log"u8, "event"u8, "stop"u8, out _);
            // the next time it gets the one behind
            session.StreamGroups.Read("log"u8, "readers"u8, "one"u8, entries, most: 1);
            output.WriteLine($"{Encoding.UTF8.GetString(entries.Value(0, 0))}, {entries.Id(0) == started}");
            session.StreamGroups.Acknowledge("log"u8, "readers"u8, entries.Id(0));

            // and is gone for good, without a word
            session.StreamGroups.Read("log"u8, "readers"u8, "one"u8, entries);
            StreamId next = StreamId.Zero;
            session.StreamGroups.ClaimIdle("log"u8, "readers"u8, "two"u8, ref next, idleMs: 0, entries);
            output.WriteLine($"{Encoding.UTF8.GetString(entries.Value(0, 0))}, {next == StreamId.Zero}");
            session.Streams.Add("log"u8, "event"u8, "crash"u8, out _, StreamKeep.Newest(2));
            session.Streams.Count("log"u8, out long kept);
            output.WriteLine(kept);

            output.WriteLine(session.Lists.Count("points"u8, out _));
        }
        // end
    }
}
