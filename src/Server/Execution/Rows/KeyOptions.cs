namespace Kv.Server.Execution;

/// <summary>An option of a command, and how many arguments follow its name.</summary>
internal readonly record struct KeyOption(string Word, int Arguments);

/// <summary>The options of a command one of which is followed by keys, read as its handler reads them.
/// Immutable.</summary>
/// <remarks>Nothing but a walk over the options finds the keys whatever the values of the others are: in <c>XREADGROUP
/// COUNT 1 GROUP STREAMS c STREAMS k &gt;</c> the first STREAMS is a group. Who looked for a word alone would check
/// other keys than the handler uses.</remarks>
/// <param name="From">Index of the first argument that may be an option.</param>
/// <param name="IsLast">Whether an option that is given twice counts as it was given last; else what follows the
/// keyword are keys to the end.</param>
/// <param name="Options">Those with arguments.</param>
internal sealed record KeyOptions(int From, bool IsLast, KeyOption[] Options)
{
    /// <summary>Of XREADGROUP.</summary>
    public static readonly KeyOptions OfGroupRead =
        new(1, IsLast: false, [new("GROUP", 2), new("COUNT", 1), new("BLOCK", 1)]);

    /// <summary>Of MIGRATE.</summary>
    public static readonly KeyOptions OfMigration = new(6, IsLast: false, [new("AUTH", 1), new("AUTH2", 2)]);

    /// <summary>Of GEORADIUS.</summary>
    public static readonly KeyOptions OfPlace = OfRadius(6);

    /// <summary>Of GEORADIUSBYMEMBER.</summary>
    public static readonly KeyOptions OfMember = OfRadius(5);

    /// <summary>Index of the argument after the keyword, relative to the name; 0 when there is no keyword.</summary>
    /// <param name="from">Index of the command's name.</param>
    public int IndexAfter(string keyword, in CommandArguments args, int from)
    {
        int found = 0, count = args.Count - from;
        for (int i = From; i < count; i++)
        {
            var word = args[from + i];
            if (KeyFinder.IsWord(word, keyword))
            {
                found = i + 1;
                if (!IsLast) break;
            }

            foreach (var option in Options)
                if (KeyFinder.IsWord(word, option.Word)) i += option.Arguments;
        }

        return found;
    }

    private static KeyOptions OfRadius(int from) =>
        new(from, IsLast: true, [new("COUNT", 1), new("STORE", 1), new("STOREDIST", 1)]);
}
