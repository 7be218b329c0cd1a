using System.Globalization;
using System.Text.RegularExpressions;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>The native templates: a superset of Tair's, split before substitution.</summary>
internal sealed partial class Template
{
    private const int CommandsMax = 10_000;

    private readonly TemplateSettings _settings;
    private readonly Placeholders _placeholders;
    private readonly string _text;

    private Template(string text, TemplateSettings settings, List<string> scripts)
    {
        _text = text;
        _settings = settings;
        _placeholders = new Placeholders(text, settings, scripts);
    }

    /// <summary>A workload of templates in the shares of their weights.</summary>
    /// <param name="count">The stream ends after so many units of the only template, each with its own number of all
    /// sequences (a load); null: it does not end.</param>
    /// <exception cref="UsageException">A template cannot be read.</exception>
    public static ShapedWorkload Parse(IEnumerable<(string Text, int Weight)> templates,
        TemplateSettings? settings = null,
        long? count = null)
    {
        settings ??= new TemplateSettings();
        var scripts = new List<string>();
        (Unit Unit, int Weight)[] units =
            [.. templates.Select(one => (new Template(one.Text, settings, scripts).ReadUnit(), one.Weight))];
        if (units.Length == 0 || units.All(one => one.Weight <= 0))
            throw new UsageException("there is no command to send");
        string[] known = [.. scripts.Distinct()];
        if (count is not { } n) return ShapedWorkload.Mix(units, known, settings.Value.Verifier);
        if (units.Length > 1) throw new UsageException("a load takes one template");
        return new ShapedWorkload([units[0].Unit], seat => new CountedSchedule(n, seat))
        {
            CommandsInAll = n * units[0].Unit.Commands.Count, ScriptsToLoad = known,
        };
    }

    public static ShapedWorkload Parse(string text, TemplateSettings? settings = null) => Parse([(text, 1)], settings);

    /// <summary>Takes the weight off the end: "GET {key} :80".</summary>
    public static (string Text, int Weight) SplitWeight(string text)
    {
        Match match = Weight().Match(text);
        return match.Success && int.TryParse(match.Groups[1].Value, CultureInfo.InvariantCulture, out int weight)
            ? (text[..match.Index], weight)
            : (text, 1);
    }

    private Unit ReadUnit()
    {
        var commands = new List<Command>();
        foreach (List<List<Atom>> arguments in TemplateReader.Read(_text))
        {
            int times = TakeTimes(arguments);
            if (arguments.Count == 0) throw Wrong("a repetition has no command");
            Command command = ReadCommand(arguments);
            commands.AddRange(Enumerable.Repeat(command, times));
            if (commands.Count > CommandsMax) throw Wrong($"a sequence has more than {CommandsMax} commands");
        }

        return commands.Count > 0 ? new Unit(commands) : throw Wrong("there is no command");
    }

    /// <summary>Takes "10*" off the front: a word of its own, or glued to the command's.</summary>
    private int TakeTimes(List<List<Atom>> arguments)
    {
        if (arguments[0] is not [{ IsPlaceholder: false } first, ..]
            || Times().Match(first.Text) is not { Success: true } match)
            return 1;
        if (!int.TryParse(match.Groups[1].Value, CultureInfo.InvariantCulture, out int times) || times is < 1
            or > CommandsMax)
            throw Wrong($"'{match.Value}' repeats 1 to {CommandsMax} times");
        if (first.Text.Length == match.Length && arguments[0].Count == 1) arguments.RemoveAt(0);
        else arguments[0][0] = first with { Text = first.Text[match.Length..] };
        return times;
    }

    private Command ReadCommand(List<List<Atom>> arguments)
    {
        var groups = new List<Repeated>();
        var plain = new List<Argument>();
        _placeholders.BeginCommand();
        foreach (List<Atom> argument in arguments)
        {
            if (argument is [{ IsPlaceholder: true } only] && Repeat().Match(only.Text) is { Success: true } repeat)
            {
                if (plain.Count > 0) groups.Add(new Repeated([.. plain]));
                plain.Clear();
                groups.Add(ReadRepeated(repeat));
            }
            else
            {
                plain.AddRange(ReadArgument(argument));
            }
        }

        if (plain.Count > 0) groups.Add(new Repeated([.. plain]));
        string name = NameOf(arguments[0]);
        int bytes = (int)Math.Min(1 << 30, 32 + _settings.Value.MeanBytes);
        return new Command(new CommandKind(name, ReplyRules.Of(name), ReplyBytes: bytes), groups);
    }

    private static string NameOf(List<Atom> first) =>
        first is [{ IsPlaceholder: false } word] ? word.Text.ToUpperInvariant() : "?";

    private Repeated ReadRepeated(Match repeat)
    {
        if (!long.TryParse(repeat.Groups[1].Value, CultureInfo.InvariantCulture, out long times) || times is < 1
            or > 1 << 24)
            throw Wrong($"'{{{repeat.Value}}}' repeats 1 to {1 << 24} times");
        List<List<List<Atom>>> inner = TemplateReader.Read(repeat.Groups[2].Value);
        if (inner.Count != 1) throw Wrong($"'{{{repeat.Value}}}' holds arguments of one command");
        return new Repeated([.. inner[0].SelectMany(ReadArgument)], times);
    }

    /// <summary>One argument; more, where a placeholder yields two ({range}, {geo}).</summary>
    private List<Argument> ReadArgument(List<Atom> atoms)
    {
        List<List<Part>> arguments = [[]];
        foreach (Atom atom in atoms)
        {
            if (!atom.IsPlaceholder)
            {
                arguments[^1].AddRange(_placeholders.ReadText(atom.Text));
                continue;
            }

            IReadOnlyList<IReadOnlyList<Part>> yields = _placeholders.Read(atom.Text);
            arguments[^1].AddRange(yields[0]);
            foreach (IReadOnlyList<Part> more in yields.Skip(1)) arguments.Add([.. more]);
        }

        return [.. arguments.Select(parts => new Argument(parts))];
    }

    private UsageException Wrong(string why) => new($"the template '{_text}': {why}");

    [GeneratedRegex(@"\s:(\d{1,6})\s*$")]
    private static partial Regex Weight();

    [GeneratedRegex(@"^(\d+)\*")]
    private static partial Regex Times();

    [GeneratedRegex(@"^repeat\s+(\d+)\s*:(.*)$", RegexOptions.Singleline)]
    private static partial Regex Repeat();
}
