using System.Diagnostics;
using System.Text;
using Kv.Protocol;

namespace Kv.Server.Execution;

/// <summary>The result of looking for the keys of a spec.</summary>
internal enum KeySearch : byte
{
    Found,

    /// <summary>This call has no such keys (the keyword is absent).</summary>
    None,

    /// <summary>The arguments make no sense: a count that is no number, or larger than what follows it.</summary>
    Invalid,
}

/// <summary>Some arguments: the first one's index, how many, and how far apart.</summary>
internal readonly record struct KeyRange(int First, int Count, int Step);

/// <summary>Finds the keys among the arguments of a call, by the specs of its row. Allocates nothing, whatever a count
/// says.</summary>
/// <remarks>A call may stand after other arguments (COMMAND GETKEYS SET k v): <c>from</c> is the index of its name, and
/// ranges count from there.</remarks>
internal static class KeyFinder
{
    /// <summary>Where the keys of one spec are.</summary>
    public static KeySearch Find(KeySpec spec, in CommandArguments args, int from, out KeyRange range)
    {
        range = default;
        int count = args.Count - from;
        Debug.Assert(from >= 0 && count > 0, "a call has a name");
        int first = spec.Start switch
        {
            KeyStart.Position => spec.Position,
            KeyStart.Keyword => IndexAfterKeyword(spec, args, from),
            _ => 0,
        };
        if (first == 0 || (spec.PassesOverEmpty && first < count && args[from + first].Length == 0))
            return KeySearch.None;

        long last;
        if (spec.Extent == KeyExtent.Count)
        {
            int at = first + spec.CountOffset;
            if (at >= count || !NumberText.TryParseInt64(args[from + at].Span, out long keys)) return KeySearch.Invalid;
            first += spec.FirstOffset;
            // Compared before it is added to: any number of 64 bits may stand there.
            if (keys <= 0 || keys > count - first) return KeySearch.Invalid;
            last = first + keys - 1;
        }
        else if (spec.Last >= 0)
        {
            last = first + spec.Last;
        }
        else
        {
            last = (spec.Limit > 1 ? first + (count - first) / spec.Limit : count) + spec.Last;
        }

        if (last >= count || last < first) return KeySearch.Invalid;
        range = new(first, (int)(last - first) / spec.Step + 1, spec.Step);
        Debug.Assert(range.First > 0 && range.First + ((range.Count - 1) * range.Step) < count, "keys are arguments");
        return KeySearch.Found;
    }

    /// <summary>Whether a count stands where the spec looks for one, and is 0.</summary>
    public static bool SaysNoKeys(KeySpec spec, in CommandArguments args, int from)
    {
        int at = from + spec.Position + spec.CountOffset;
        return spec.Extent == KeyExtent.Count && at < args.Count
            && NumberText.TryParseInt64(args[at].Span, out long keys) && keys == 0;
    }

    /// <summary>What this call does with the keys of a spec.</summary>
    public static KeyAccess Access(KeySpec spec, in CommandArguments args, int from)
    {
        if (spec.Unlocking.Length == 0) return spec.Access;
        for (int i = from + spec.UnlockingFrom; i < args.Count; i++)
        {
            foreach (string word in spec.Unlocking)
            {
                if (IsWord(args[i], word)) return spec.Access & ~KeyAccess.VariableFlags;
            }
        }

        return spec.PlainAccess;
    }

    /// <summary>Index of the key that a SORT stores to, which no spec can name: the last one counts. 0
    /// without.</summary>
    public static int StoredBySort(in CommandArguments args, int from)
    {
        int found = 0;
        for (int i = from + 2; i < args.Count; i++)
        {
            if (IsWord(args[i], "LIMIT")) i += 2;
            else if (IsWord(args[i], "GET") || IsWord(args[i], "BY")) i++;
            else if (IsWord(args[i], "STORE") && i + 1 < args.Count) found = i + 1;
        }

        return found;
    }

    /// <summary>Index of the argument after the keyword, relative to the name; 0 when there is no keyword.</summary>
    private static int IndexAfterKeyword(KeySpec spec, in CommandArguments args, int from)
    {
        if (spec.Options is { } options) return options.IndexAfter(spec.Keyword, args, from);
        int count = args.Count - from;
        int step = spec.Position > 0 ? 1 : -1;
        for (int i = step > 0 ? spec.Position : count + spec.Position; i > 0 && i < count; i += step)
        {
            if (IsWord(args[from + i], spec.Keyword)) return i + 1;
        }

        return 0;
    }

    internal static bool IsWord(Argument argument, string upper) =>
        argument.Length == upper.Length && Ascii.EqualsIgnoreCase(argument.Span, upper);
}
