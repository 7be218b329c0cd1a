using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>docs/configuration.md, made from the rows; a test keeps the file in step.</summary>
internal static class OptionDocument
{
    public static string Text()
    {
        var text = new StringBuilder("""
            # Options

            Made from the rows in `src/Server/Configuration`; renew it with `KV_REWRITE=1 dotnet test -c Release`.

            Order: default, file with its includes, standard input (`-`), environment (`KV_<NAME>`, `_` for `-`; `KV_<NAME>_FILE`
            reads the value from a file; `KV_PASSWORD`), command line, CONFIG SET. Later ones win; `save` and
            `client-output-buffer-limit` add up. Sizes: `1k` is 1000, `1kb` is 1024, `m` and `g` likewise.
            "Live": CONFIG SET changes it while the server runs. "Protected": it may, where `enable-protected-configs` allows it.

            ## Options that have an effect

            | Option | Default | Values | CONFIG SET | What it is |
            |---|---|---|---|---|

            """.ReplaceLineEndings("\n"));
        var defaults = new ServerOptions { Transport = TransportKind.Epoll };
        foreach (var option in Of(OptionClass.Honoured))
            Row(text, Names(option), Value(option, defaults), Cell(option.Expects), When(option), Cell(option.Summary));

        text.Append("""

            ## Options that are refused

            Their default and what stands beside it are accepted; anything else stops the start, or is an error of CONFIG SET:
            the server would promise something that it does not do.

            | Option | Accepted | Why nothing else |
            |---|---|---|

            """.ReplaceLineEndings("\n"));
        foreach (var option in Of(OptionClass.Refused))
            Row(text, Names(option), Accepted(option, defaults), option.Reason);
        foreach (var (name, reason) in RefusedOptions.Directives) Row(text, $"`{name}` (a line of a file)", "", reason);

        text.Append("""

            ## Options that are known and have no effect

            In a file or on the command line they are checked, stored and answered, so that files and tools work; the log names
            each one that is set to something else than its default. CONFIG SET takes the default, what stands beside it (which
            is what the server does anyway) and the present value; anything else is an error: `... - the option has no effect yet`.

            | Option | Default | Note |
            |---|---|---|

            """.ReplaceLineEndings("\n"));
        foreach (var option in Of(OptionClass.Kept))
            Row(text, Names(option), Accepted(option, defaults), option.Reason);
        return text.ToString();
    }

    private static IEnumerable<Option> Of(OptionClass kind) => OptionTable.Rows.Where(o => o.Class == kind);

    private static void Row(StringBuilder text, params string[] cells) =>
        text.Append(CultureInfo.InvariantCulture, $"| {string.Join(" | ", cells)} |\n");

    private static string Names(Option option)
    {
        var names = ((string[])[option.Name, .. option.Aliases]).Select(name => $"`{name}`");
        var atStart = option.Switches.Select(name => name.Length == 1 ? $"`-{name}`" : $"`--{name}`");
        return string.Join(", ", names.Concat(atStart));
    }

    // The current directory is the reader's, not this machine's.
    private static string Value(Option option, ServerOptions defaults) =>
        option.Name == "dir" ? "the current one" : option.IsStartOnly ? "" : Cell(option.Read(defaults));

    private static string Accepted(Option option, ServerOptions defaults) =>
        Value(option, defaults) + option.Harmless.TrimEnd(',').Replace(",", ", ", StringComparison.Ordinal);

    private static string When(Option option) => option.Change switch
    {
        OptionChange.Live or OptionChange.ByHandler => "live",
        OptionChange.Protected => "protected",
        _ => "no",
    };

    private static string Cell(string text) =>
        text.Replace("|", "\\|", StringComparison.Ordinal).Replace("*", "\\*", StringComparison.Ordinal);
}
