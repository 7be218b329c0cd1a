using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>What one client asked of a few keys at one time, what was answered, and when.</summary>
/// <param name="Client">Whose it is: it sends one behind the other, perhaps without waiting for the answer.</param>
/// <param name="Commands">One command, or those between MULTI and EXEC.</param>
/// <param name="Answers">As many.</param>
internal sealed record KeyspaceCall(int Client, string[] Commands, Reply[] Answers, long Call, long Return)
{
    /// <summary>Says whether calls can have happened one by one, each between its call and its return, and each
    /// client's in their order.</summary>
    /// <param name="calls">Those of one client in the order in which it sent them.</param>
    /// <returns>Null when they can; "unknown" when that takes too long to find out; else what is wrong.</returns>
    public static string? Search(IReadOnlyList<KeyspaceCall> calls)
    {
        var after = new ulong[calls.Count];
        for (int i = 0; i < calls.Count; i++)
            for (int before = 0; before < i; before++)
                if (calls[before].Client == calls[i].Client) after[i] |= 1UL << before;
        return new SequentialSearch<string>([.. calls.Select(call => (call.Call, call.Return))], Step, after).Run("");

        bool Step(string state, int call, out string next)
        {
            var keys = Keyspace.Parse(state);
            bool agrees = true;
            for (int i = 0; agrees && i < calls[call].Commands.Length; i++)
                agrees = keys.Answers(calls[call].Commands[i], calls[call].Answers[i]);
            next = agrees ? keys.ToString() : "";
            return agrees;
        }
    }

    public override string ToString() =>
        $"{Call}-{Return} client {Client}: "
        + $"{string.Join("; ", Commands.Zip(Answers, (command, answer) => $"{command} -> {answer}"))}";
}
