using global::CommandLine;
using global::CommandLine.Text;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Native;

/// <summary>The native grammar: a verb, then its options.</summary>
internal static class Verbs
{
    private static readonly Type[] Types = [typeof(NullServerVerb)];

    /// <summary>Whether a word is a verb of this grammar.</summary>
    public static bool IsVerb(string word) => Types.Any(type => Name(type) == word);

    /// <returns>The exit code.</returns>
    public static int Run(string[] arguments, TextWriter output, TextWriter errors, CancellationToken stop)
    {
        using var parser = new Parser(settings =>
        {
            settings.CaseSensitive = true;
            settings.AllowMultiInstance = true;
            settings.HelpWriter = null;
        });
        ParserResult<object> result = parser.ParseArguments(arguments, Types);
        return result.MapResult(verb => Run(verb, errors, stop), _ => Explain(result, output, errors));
    }

    private static int Run(object verb, TextWriter errors, CancellationToken stop)
    {
        try
        {
            return verb switch
            {
                NullServerVerb nullServer => nullServer.Run(errors, stop),
                _ => throw new InvalidOperationException($"no verb runs {verb.GetType().Name}"),
            };
        }
        catch (UsageException failure)
        {
            errors.WriteLine(failure.Message);
            return failure.ExitCode;
        }
    }

    private static int Explain(ParserResult<object> result, TextWriter output, TextWriter errors)
    {
        bool asked = result.Errors.IsHelp() || result.Errors.IsVersion();
        HelpText help = HelpText.AutoBuild(result, text =>
        {
            text.AdditionalNewLineAfterOption = false;
            text.Copyright = string.Empty;
            return HelpText.DefaultParsingErrorsHandler(result, text);
        }, example => example, verbsIndex: true);
        (asked ? output : errors).WriteLine(help);
        return asked ? ExitCode.Ok : ExitCode.Usage;
    }

    private static string Name(Type type) => ((VerbAttribute)type.GetCustomAttributes(typeof(VerbAttribute), false)[0]).Name;
}
