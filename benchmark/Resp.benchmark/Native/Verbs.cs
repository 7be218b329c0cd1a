using global::CommandLine;
using global::CommandLine.Text;
using RespBenchmark.CommandLine;
using RespBenchmark.Reports;
using RespBenchmark.Suites;

namespace RespBenchmark.Native;

/// <summary>The native grammar: a verb, then its options.</summary>
internal static class Verbs
{
    private static readonly Type[] Types =
    [
        typeof(RunVerb), typeof(SweepVerb), typeof(RateVerb), typeof(SuiteVerb), typeof(LoadVerb), typeof(VerifyVerb),
        typeof(CompareVerb), typeof(ReportVerb), typeof(DoctorVerb), typeof(NullServerVerb),
    ];

    /// <summary>Whether a word is a verb of this grammar.</summary>
    public static bool IsVerb(string word) => Types.Any(type => Name(type) == word);

    /// <returns>The exit code.</returns>
    public static int Run(string[] arguments, Surroundings surroundings)
    {
        using var parser = new Parser(settings =>
        {
            settings.CaseSensitive = true;
            settings.AllowMultiInstance = true;
            settings.HelpWriter = null;
        });
        ParserResult<object> result = parser.ParseArguments(arguments, Types);
        return result.MapResult(verb => Run(verb, surroundings),
            _ => Explain(result, surroundings.Output, surroundings.Errors));
    }

    private static int Run(object verb, Surroundings surroundings)
    {
        switch (verb)
        {
            case SuiteVerb suite: return new SuiteCommand(suite, surroundings).Run();
            case RunVerb run: return new RunCommand(run, surroundings).Run();
            case LoadVerb load: return LoadCommand.Run(load, surroundings);
            case VerifyVerb verify: return VerifyCommand.Run(verify, surroundings);
            case CompareVerb compare: return CompareRun.Compare(compare.Base, compare.New, [.. compare.FailIf],
                surroundings.Output, surroundings.Errors);
            case ReportVerb report: return Render(report);
            case DoctorVerb doctor: return DoctorCommand.Run(doctor, surroundings);
            case NullServerVerb nullServer: return nullServer.Run(surroundings);
            default: throw new InvalidOperationException($"no verb runs {verb.GetType().Name}");
        }
    }

    private static int Render(ReportVerb verb)
    {
        if (verb.Html is null && verb.Markdown is null && verb.Csv is null)
            throw new UsageException("report: say what to write: --html, --md or --csv FILE");
        ReportFiles.Write(ReportFiles.Read(verb.File),
            new ReportPaths { Html = verb.Html, Markdown = verb.Markdown, Csv = verb.Csv });
        return ExitCode.Ok;
    }

    private static int Explain(ParserResult<object> result, TextWriter output, TextWriter errors)
    {
        if (result.Errors.IsVersion())
        {
            output.Write($"Resp.benchmark {ProgramName.Version}\n");
            return ExitCode.Ok;
        }

        Type? verb = result.Errors.OfType<HelpVerbRequestedError>().FirstOrDefault()?.Type ?? result.TypeInfo.Current;
        verb = Types.Contains(verb) ? verb : null;
        if (result.Errors.IsHelp() || result.Errors.Any(error => error is HelpVerbRequestedError or HelpRequestedError))
        {
            output.Write(verb is null ? NativeHelp.Overview(Types) : NativeHelp.Of(verb));
            return ExitCode.Ok;
        }

        var sentences = SentenceBuilder.Create();
        foreach (Error error in result.Errors) errors.Write($"{sentences.FormatError(error)}\n");
        errors.Write($"Resp.benchmark {(verb is null ? "" : Name(verb) + " ")}--help lists what there is.\n");
        return ExitCode.Usage;
    }

    private static string Name(Type type) =>
        ((VerbAttribute)type.GetCustomAttributes(typeof(VerbAttribute), false)[0]).Name;
}
