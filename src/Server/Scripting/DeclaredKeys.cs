using System.Globalization;
using Kv.Lua;
using Kv.Server.Execution;

namespace Kv.Server.Scripting;

/// <summary>Whether a script's text shows that it uses no keys but those that its callers declare: then it never
/// has to go on alone, and may change what it has declared while others run.</summary>
/// <remarks>A proof: what is not plain is answered with no. When it is run all keys are looked up.</remarks>
internal static class DeclaredKeys
{
    private static readonly HashSet<string> Calls = ["call", "pcall"];

    public static bool AreAll(LuaText code, CommandTable commands)
    {
        var survey = LuaCallSurvey.Of(code, "redis", Calls, "KEYS");
        return IsPlain(survey, commands);
    }

    /// <summary>The names of the functions of a library whose text shows that.</summary>
    public static HashSet<LuaString> OfFunctions(LuaText code, CommandTable commands) =>
        [.. LuaCallSurvey.OfRegistered(code, "redis", Calls, "register_function")
            .Where(row => IsPlain(row.Value, commands)).Select(row => row.Key)];

    private static bool IsPlain(LuaCallSurvey survey, CommandTable commands) =>
        survey.IsComplete && survey.Calls.All(arguments => IsPlain(arguments, commands));

    private static bool IsPlain(IReadOnlyList<LuaCallArgument> arguments, CommandTable commands)
    {
        if (arguments.Count == 0) return true;      // an error before anything is done
        if (arguments[0] is not { Kind: LuaArgumentKind.Constant, Text: { } name }) return false;
        if (commands.Find(name.Span) is not { } command) return true;       // likewise
        if ((command.Flags & CommandFlags.NoScript) != 0) return true;      // likewise
        if (command.Subcommands.Length > 0 && arguments.Count > 1)
        {
            if (arguments[1] is not { Kind: LuaArgumentKind.Constant, Text: { } second }) return false;
            command = command.FindSubcommand(second.Span) ?? command;
        }

        bool isOpen = arguments[^1].Kind is LuaArgumentKind.Several or LuaArgumentKind.SeveralElements;
        // Of another database nothing is held.
        if (command.Name == "SELECT") return false;
        if (command.UnnamedKeysFrom > 0 && (isOpen || arguments.Count >= command.UnnamedKeysFrom)) return false;
        return command.Keys.All(spec => (spec.Access & KeyAccess.NotKey) != 0 || AreElements(spec, arguments, isOpen));
    }

    /// <summary>Whether all that a spec names are declared keys.</summary>
    /// <param name="isOpen">Whether there may be more arguments than are known.</param>
    private static bool AreElements(KeySpec spec, IReadOnlyList<LuaCallArgument> arguments, bool isOpen)
    {
        if (spec.Start != KeyStart.Position) return false;
        int first = spec.Position, last;
        switch (spec.Extent)
        {
            case KeyExtent.Count:
                int at = first + spec.CountOffset;
                if (at >= arguments.Count) return !isOpen;
                if (arguments[at] is not { Kind: LuaArgumentKind.Constant, Text: { } text }
                    || !int.TryParse(text.ToString(), NumberStyles.None, CultureInfo.InvariantCulture, out int count))
                    return false;
                first += spec.FirstOffset;
                if (count > arguments.Count) return !isOpen;        // more than there are: an error
                last = first + count - 1;
                break;
            case KeyExtent.Range when spec.Last >= 0:
                last = first + spec.Last;
                break;
            case KeyExtent.Range when spec.Limit <= 1 && (!isOpen || spec is { Last: -1, Step: 1 }):
                last = arguments.Count + spec.Last;
                break;
            default:
                return false;
        }

        for (int i = first; i <= last; i += spec.Step)
        {
            if (i >= arguments.Count) return !isOpen || arguments[^1].Kind == LuaArgumentKind.SeveralElements;
            if (arguments[i].Kind == LuaArgumentKind.SeveralElements && i == arguments.Count - 1) return true;
            if (arguments[i].Kind != LuaArgumentKind.Element) return false;
        }

        return true;
    }
}
