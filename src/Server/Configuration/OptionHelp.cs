using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>What <c>--help</c> and <c>--version</c> print, made from the rows.</summary>
internal static class OptionHelp
{
    public static string Version =>
        $"kv-server {ServerVersion.KvVersion} (redis {ServerVersion.RedisVersion}, .NET {Environment.Version})\n";

    /// <summary>Usage, the options that have an effect with their defaults, and where else options come from.</summary>
    public static string Text()
    {
        var text = new StringBuilder();
        text.Append("""
            Usage: kv-server [file] [--name value ...]... [-]

              kv-server                                 127.0.0.1:6379 and [::1]:6379
              kv-server /etc/kv.conf --port 6380        options of a file, then of the command line
              kv-server - < kv.conf                     options from standard input
              kv-server --check /etc/kv.conf            says what a start would do, and all that is wrong: exit 0 or 1
              kv-server --health [--ready] [--host h]   asks a running server: exit 0 when it is alive (ready)

            A file holds one option a line, as redis.conf does. Sizes: 1k is 1000, 1kb is 1024, m and g likewise.

            """.ReplaceLineEndings("\n"));
        var defaults = new ServerOptions();
        foreach (var option in OptionTable.Rows)
        {
            if (option.Class != OptionClass.Honoured) continue;
            string names = string.Join(", ", Names(option));
            string value = option.Read(defaults);
            string byDefault = value.Length is > 0 and < 32 && !option.IsStartOnly && !option.IsSwitch
                ? $" ({value})" : "";
            text.Append(CultureInfo.InvariantCulture, $"\n  {names,-33} {option.Summary}{byDefault}");
        }

        int others = OptionTable.Rows.Count(o => o.Class != OptionClass.Honoured);
        text.Append($"""


              -v, --version                     print the version
              -h, --help                        print this

            {others} more options of redis.conf are known: those without effect here are named in the log, those that would
            promise something that does not exist stop the start. CONFIG GET * lists all.
            Environment: KV_PORT=6380, KV_PASSWORD=..., KV_PASSWORD_FILE=/run/secrets/...: any option with _ for -.

            """.ReplaceLineEndings("\n"));
        return text.ToString();
    }

    private static IEnumerable<string> Names(Option option)
    {
        foreach (string name in (string[])[option.Name, .. option.Aliases, .. option.Switches])
            yield return name.Length == 1 ? "-" + name : "--" + name;
    }
}
