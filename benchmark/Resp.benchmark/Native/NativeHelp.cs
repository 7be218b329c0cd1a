using System.Reflection;
using System.Text;
using global::CommandLine;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Native;

/// <summary>The help of the native grammar: the verbs, or the options of one in groups. What a verb has in common with
/// another is named only, and the verb that explains it as well.</summary>
internal static class NativeHelp
{
    private const int NameColumns = 24, Columns = 110;

    // An option that stands in none of these is listed under "More"; a test sees to it that none does.
    private static readonly (string Title, string[] Options)[] Groups =
    [
        ("Suite", ["list", "profile", "scale", "dry-run"]),
        ("Shape", ["conns", "depth", "mode", "scenario", "peers", "maxmemory", "loops", "session-model", "cores"]),
        ("Time", ["warmup", "duration", "ops", "drain", "cooldown", "reps"]),
        ("Open loop", ["rate", "rate-sweep", "arrival", "max-inflight", "co"]),
        ("Checks and gates", ["verify", "on-error", "fail-on-saturation", "baseline", "fail-if"]),
        ("Server and processors", ["server-pid", "pin-client", "pin-server", "calibrate", "probe", "start", "restart"]),
        ("Output", ["pct", "digits", "interval", "json", "csv", "csv-format", "md", "html", "hdr", "quiet",
            "progress"]),
    ];

    private static readonly (Type Options, Type Explaining, string Title)[] Shared =
        [(typeof(WorkloadOptions), typeof(LoadVerb), "Workload"),
            (typeof(TargetOptions), typeof(DoctorVerb), "Target")];

    /// <summary>The verbs and how to go on.</summary>
    public static string Overview(IEnumerable<Type> verbs)
    {
        var text = new StringBuilder(
            $"Resp.benchmark {ProgramName.Version}: loads RESP servers and says who was the bound\n\nResp.benchmark "
            + $"VERB [options]\n");
        foreach (Type type in verbs) text.Append($"  {VerbOf(type).Name,-12} {VerbOf(type).HelpText}\n");
        return text.Append("""

            Resp.benchmark VERB --help lists a verb's options.
            It also takes the command lines of Garnet's Resp.benchmark, of redis-benchmark and of Tair's resp-benchmark:
            --as garnet|redis-benchmark|resp-benchmark --help explains those.

            """).ToString();
    }

    /// <summary>The options of a verb.</summary>
    public static string Of(Type verb)
    {
        var text = new StringBuilder($"Resp.benchmark {VerbOf(verb).Name}: {VerbOf(verb).HelpText}\n");
        List<PropertyInfo> properties =
            [.. verb.GetProperties().Where(property => property.GetCustomAttribute<OptionAttribute>() is not null)];
        PropertyInfo[] values =
            [.. verb.GetProperties().Where(property => property.GetCustomAttribute<ValueAttribute>() is not null)];
        foreach (PropertyInfo value in values)
            text.Append(Line(value.GetCustomAttribute<ValueAttribute>()!.MetaName,
                value.GetCustomAttribute<ValueAttribute>()!));

        var named = new StringBuilder();
        foreach ((Type options, Type explaining, string title) in Shared)
        {
            PropertyInfo[] common = [.. properties.Where(property => property.DeclaringType == options)];
            if (common.Length == 0) continue;
            properties.RemoveAll(common.Contains);
            if (verb == explaining) AppendGroup(text, title, common);
            else named.Append(
                $"{title} (Resp.benchmark {VerbOf(explaining).Name} --help explains these)\n{Names(common)}");
        }

        foreach ((string title, string[] options) in Groups)
        {
            PropertyInfo[] group =
                [.. options.Select(name => properties.Find(property => OptionOf(property).LongName == name))
                    .OfType<PropertyInfo>()];
            properties.RemoveAll(group.Contains);
            AppendGroup(text, title, group);
        }

        AppendGroup(text, verb.IsSubclassOf(typeof(TargetOptions)) ? "More" : "Options", properties);
        return text.Append(named.Length > 0 ? "\n" : "").Append(named).ToString();
    }

    private static void AppendGroup(StringBuilder text, string title, IReadOnlyCollection<PropertyInfo> options)
    {
        if (options.Count == 0) return;
        text.Append($"{title}\n");
        foreach (PropertyInfo property in options)
        {
            OptionAttribute option = OptionOf(property);
            text.Append(
                Line($"{(option.ShortName.Length > 0 ? $"-{option.ShortName}, " : "    ")}--{option.LongName}",
                    option));
        }
    }

    private static string Line(string name, BaseAttribute attribute)
    {
        string known = attribute.Default is { } value && value is not false ? $" ({value})" : "";
        return $"  {name.PadRight(NameColumns)} {attribute.HelpText}{known}\n";
    }

    private static string Names(IEnumerable<PropertyInfo> options)
    {
        var text = new StringBuilder();
        int column = 0;
        foreach (string name in options.Select(property => $"--{OptionOf(property).LongName}"))
        {
            if (column > 0 && column + name.Length + 1 > Columns)
            {
                text.Append('\n');
                column = 0;
            }

            string word = column == 0 ? $"  {name}" : $" {name}";
            text.Append(word);
            column += word.Length;
        }

        return text.Append('\n').ToString();
    }

    private static OptionAttribute OptionOf(PropertyInfo property) => property.GetCustomAttribute<OptionAttribute>()!;

    private static VerbAttribute VerbOf(Type type) => type.GetCustomAttribute<VerbAttribute>(false)!;
}
