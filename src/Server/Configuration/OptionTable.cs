using System.Diagnostics;
using System.Text;
using Kv.Server.Patterns;

namespace Kv.Server.Configuration;

/// <summary>Every option there is, one row each; finding, listing and changing them.</summary>
/// <remarks>Threads: the table never changes; what it changes is the <see cref="ServerOptions"/> it is given.</remarks>
internal static class OptionTable
{
    /// <summary>All rows, in the order of help and CONFIG GET.</summary>
    public static IReadOnlyList<Option> Rows { get; } =
        [.. HonouredOptions.Rows, .. TlsOptionRows.Rows, .. RefusedOptions.Rows, .. KeptOptions.Rows];

    private static readonly UTF8Encoding StrictUtf8 = new(false, throwOnInvalidBytes: true);
    private static readonly Dictionary<string, Option> ByName = new(StringComparer.OrdinalIgnoreCase);

    static OptionTable()
    {
        for (int row = 0; row < Rows.Count; row++)
        {
            var option = Rows[row];
            option.Row = row;
            foreach (string name in (string[])[option.Name, .. option.Aliases]) ByName.Add(name, option);
        }
    }

    /// <summary>The option of a name or alias, in any case; null when there is none.</summary>
    public static Option? Find(string name) => ByName.GetValueOrDefault(name);

    /// <summary>What CONFIG GET answers: name and value, under the name asked for, each name once.</summary>
    /// <param name="patterns">Names, answered as they were spelled, or globs, answered in lower case.</param>
    public static IEnumerable<(string Name, string Value)> Match(ServerOptions options, IEnumerable<string> patterns)
    {
        var seen = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (string pattern in patterns)
        {
            if (pattern.AsSpan().IndexOfAny("*?[") < 0)
            {
                var option = Find(pattern);
                if (option is { IsOfConfig: true } && seen.Add(pattern)) yield return (pattern, option.Read(options));
                continue;
            }

            byte[] glob = Encoding.UTF8.GetBytes(pattern);
            foreach (var option in Rows)
            {
                if (!option.IsOfConfig) continue;
                foreach (string name in (string[])[option.Name, .. option.Aliases])
                {
                    if (GlobPattern.IsMatch(glob, Encoding.ASCII.GetBytes(name), ignoreCase: true) && seen.Add(name))
                        yield return (name, option.Read(options));
                }
            }
        }
    }

    /// <summary>What CONFIG SET does: all pairs, or none and the reason.</summary>
    /// <param name="isLocal">The client is on a loopback address or a unix socket.</param>
    /// <param name="by">Who sets them, and when, for CONFIG EXPLAIN.</param>
    public static SetResult TrySet(ServerOptions options, IReadOnlyList<(string Name, string Value)> pairs,
        bool isLocal = false, string by = "CONFIG SET")
    {
        var changes = new List<(string AskedFor, Option Option, string Text)>(pairs.Count);
        foreach (var (name, text) in pairs)
        {
            var option = Find(name);
            if (option is not { IsOfConfig: true })
                return SetResult.Failed($"ERR Unknown option or number of arguments for CONFIG SET - '{name}'");
            if (WhyFixed(options, option, isLocal) is { } reason) return Failed(name, reason);
            if (changes.Exists(c => c.AskedFor.Equals(name, StringComparison.OrdinalIgnoreCase)))
                return Failed(name, "duplicate parameter");
            changes.Add((name, option, text));
        }

        lock (options.ChangeLock)
        {
            var result = SetLatched(options, changes);
            if (!result.IsOk) return result;
            foreach (var (_, option, _) in changes) options.Origins.Note(option, by);
            return result;
        }
    }

    /// <summary>Options that were given a value that has no effect, for one line of the log each.</summary>
    public static IEnumerable<string> WithoutEffect(ServerOptions options, IEnumerable<Option> changed)
    {
        var defaults = new ServerOptions();
        foreach (var option in changed)
        {
            if (option.Class != OptionClass.Kept || !option.Promises(option.Read(options), option.Read(defaults)))
                continue;
            yield return option.Reason.Length > 0
                ? $"option '{option.Name}' has no effect: {option.Reason}"
                : $"option '{option.Name}' has no effect";
        }
    }

    /// <summary>Every value read as text and parsed again: what is out of range when set from code.</summary>
    /// <returns>Null, or one line.</returns>
    public static string? Validate(ServerOptions options)
    {
        var defaults = new ServerOptions();
        foreach (var option in Rows)
        {
            string text = option.Read(options);
            if (!option.TryParse(options, text, out _, out string error))
                return $"option '{option.Name}' ({option.Expects}): "
                    + $"{error}{(option.IsSecret ? "" : $", got '{text}'")}";
            if (option.Refuses(text, option.Read(defaults)))
                return $"option '{option.Name}' cannot be '{text}': {option.Reason}";
        }

        return null;
    }

    /// <summary>Bytes of a client as text; false when they are not UTF-8, which no option takes.</summary>
    public static bool TryDecode(ReadOnlySpan<byte> bytes, out string text)
    {
        try
        {
            text = StrictUtf8.GetString(bytes);
            return true;
        }
        catch (DecoderFallbackException)
        {
            text = "";
            return false;
        }
    }

    private static string? WhyFixed(ServerOptions options, Option option, bool isLocal)
    {
        bool isFixed = option.Change == OptionChange.AtStart
            || (option.Change == OptionChange.ByHandler && options.HandlerOf(option.Name) is null);
        if (isFixed) return "can't set immutable config";
        bool isAllowed = option.Change != OptionChange.Protected || options.EnableProtectedConfigs == AllowedFor.Yes
            || (options.EnableProtectedConfigs == AllowedFor.Local && isLocal);
        return isAllowed ? null : "can't set protected config";
    }

    private static SetResult SetLatched(ServerOptions options,
        List<(string AskedFor, Option Option, string Text)> changes)
    {
        Debug.Assert(options.ChangeLock.IsHeldByCurrentThread, "options change one after another");
        var defaults = new ServerOptions();
        var undo = new List<(Option Option, object Old)>();
        foreach (var (name, option, text) in changes)
        {
            if (!option.TryParse(options, text, out object value, out string error)) return Fail(name, error);
            if (WhyWithoutEffect(option, option.Format(value), options, defaults) is { } reason)
                return Fail(name, reason);
            undo.Add((option, option.ReadValue(options)));
            option.Write(options, value);
        }

        Debug.Assert(undo.Count == changes.Count, "each can be put back");
        // First what can refuse. The others cannot, and some could not be undone by a second call: that of requirepass
        // replaces all passwords of the default user, by none where requirepass is empty again.
        var order = changes
            .OrderBy(change => options.HandlerOf(change.Option.Name) is not { MayRefuse: true }).ToList();
        for (int i = 0; i < order.Count; i++)
        {
            var handler = options.HandlerOf(order[i].Option.Name);
            string? error = handler?.Apply(options);
            if (error is null) continue;
            Debug.Assert(handler!.MayRefuse, "only these handlers may refuse");
            PutBack();
            for (int done = 0; done <= i; done++) options.HandlerOf(order[done].Option.Name)?.Apply(options);
            return Failed(order[i].AskedFor, error);
        }

        return new SetResult(null);

        SetResult Fail(string name, string error)
        {
            PutBack();
            return Failed(name, error);
        }

        // Backwards, so that an option set twice under two names ends at its first old value.
        void PutBack()
        {
            for (int i = undo.Count - 1; i >= 0; i--) undo[i].Option.Write(options, undo[i].Old);
        }
    }

    /// <summary>Why an option is not set to a value: whoever got OK for it would count on an effect. Null when it may
    /// be.</summary>
    private static string? WhyWithoutEffect(Option option, string text, ServerOptions options, ServerOptions defaults)
    {
        if (!option.Promises(text, option.Read(defaults))) return null;
        if (option.Class == OptionClass.Refused) return option.Reason;
        if (text == option.Read(options)) return null;      // as the file or the command line had it
        return option.Reason.Length > 0 ? $"the option has no effect yet: {option.Reason}"
            : "the option has no effect yet";
    }

    private static SetResult Failed(string name, string reason) =>
        SetResult.Failed($"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}");
}
