using System.Collections.Concurrent;
using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>Clients whose calls meet on the same few keys, which are others after so many calls; and what they were
/// answered.</summary>
internal sealed class KeyspaceRun(string kind, bool twoKeys, int histories, TimeBudget budget)
{
    private const int CallsInHistory = 24, PipelineMax = 4, HistoriesMin = 50;

    private readonly KeyspaceCall?[][] _histories =
        [.. Enumerable.Range(0, histories).Select(_ => new KeyspaceCall?[CallsInHistory])];
    private long _next, _time;

    /// <summary>Calls until the histories are full or the time is over.</summary>
    /// <param name="client">Its number.</param>
    /// <param name="send">Sends a pipeline and gives back the replies.</param>
    /// <param name="failures">Somebody's failure ends everybody's run.</param>
    public void Call(int client, Random random, Func<byte[], int, Reply[]> send, ConcurrentQueue<Exception> failures)
    {
        while ((budget.Continues || Volatile.Read(ref _next) < HistoriesMin * CallsInHistory) && failures.IsEmpty)
        {
            int count = random.Next(3) == 0 ? random.Next(2, PipelineMax + 1) : 1;
            long first = Interlocked.Add(ref _next, count) - count;
            if (first + count > (long)histories * CallsInHistory) return;
            var calls = Enumerable.Range(0, count).Select(i => Commands(first + i, random)).ToArray();
            byte[] wire = [.. calls.SelectMany(commands => IsOne(commands) ? commands : ["MULTI", .. commands, "EXEC"])
                .SelectMany(line => RespText.Encode(line))];
            int replies = calls.Sum(commands => IsOne(commands) ? 1 : commands.Length + 2);
            long call = Interlocked.Increment(ref _time);
            Reply[] all = send(wire, replies);
            long end = Interlocked.Increment(ref _time);
            for (int i = 0, at = 0; i < count; i++)
            {
                at += IsOne(calls[i]) ? 1 : calls[i].Length + 2;
                Reply last = all[at - 1];
                Reply[] answers = IsOne(calls[i]) ? [last] : [.. last.Items!];
                _histories[(first + i) / CallsInHistory][(first + i) % CallsInHistory] =
                    new KeyspaceCall(client, calls[i], answers, call, end);
            }
        }
    }

    /// <summary>Fails when any history that is whole cannot have been.</summary>
    /// <returns>How many there are.</returns>
    public string Check()
    {
        int whole = 0, unknown = 0, concurrent = 0;
        foreach (var history in _histories)
        {
            if (history.Contains(null)) continue;
            whole++;
            // A client takes its calls in their order, so a history has them so.
            string? wrong = KeyspaceCall.Search(history!);
            if (wrong == "unknown") unknown++;
            else Assert.True(wrong == null,
                $"{wrong}; {Seed.Hint}\n{string.Join('\n', history.OrderBy(call => call!.Call))}");
            if (history.Any(one => history.Any(other => one!.Client != other!.Client && one.Call < other.Return
                && other.Call < one.Return))) concurrent++;
        }

        Assert.True(whole >= HistoriesMin - 5 && unknown * 100 <= whole, $"{whole} checked, {unknown} unknown");
        return $"{whole} histories, {concurrent} with calls at the same time, {unknown} unknown";
    }

    private static bool IsOne(string[] commands) => commands.Length == 1;

    private string[] Commands(long number, Random random)
    {
        // A client that was late writes to keys that others have left: it is one call of that history all the same.
        string one = $"one{number / CallsInHistory}", other = $"other{number / CallsInHistory}";
        int unique = (int)(number % CallsInHistory) + 1;
        if (!twoKeys) return [KeyspaceCommands.OnOne(kind, one, unique, random)];
        int count = random.Next(2) == 0 ? 1 : random.Next(2, 4);
        return [.. Enumerable.Range(0, count).Select(i => random.Next(4) == 0
            ? KeyspaceCommands.OnBoth(kind, one, other, random)
            : KeyspaceCommands.OnOne(kind, random.Next(2) == 0 ? one : other, (unique * 10) + i, random))];
    }
}
