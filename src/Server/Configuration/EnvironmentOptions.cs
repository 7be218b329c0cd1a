using System.Diagnostics;

namespace Kv.Server.Configuration;

/// <summary>
/// Options from environment variables: <c>KV_MAXMEMORY_POLICY</c>, and <c>KV_REQUIREPASS_FILE</c> for the content of a
/// file.
/// </summary>
internal static class EnvironmentOptions
{
    private const string Prefix = "KV_", FileSuffix = "_FILE";

    /// <summary>Adds a line for each variable that names an option. An empty variable counts as none.</summary>
    /// <remarks>
    /// Other variables may begin with KV_ for reasons of their own, so an unknown name is no error: a container
    /// platform sets <c>KV_PORT=tcp://10.0.0.1:6379</c> for a service named kv. A name that looks like a slip is warned
    /// of.
    /// </remarks>
    public static void Read(IReadOnlyDictionary<string, string> environment, List<ConfigLine> lines,
        List<string> warnings, List<OptionProblem> problems)
    {
        var givenBy = new Dictionary<Option, string>();
        string[] variables = [.. environment.Keys];
        Array.Sort(variables, StringComparer.Ordinal);
        foreach (string variable in variables)
        {
            string value = environment[variable];
            if (!variable.StartsWith(Prefix, StringComparison.Ordinal) || value.Length == 0) continue;
            var option = Find(variable, out bool isFile);
            if (option is null)
            {
                if (Suggestion.Nearest(NameOf(variable)) is { } near)
                    warnings.Add(
                        $"environment variable {variable} is no option: did you mean "
                        + $"{Prefix}{near.ToUpperInvariant().Replace('-', '_')}?");
                continue;
            }

            if (value.StartsWith("tcp://", StringComparison.Ordinal) && !option.TakesAnyText)
            {
                warnings.Add(
                    $"environment variable {variable} is ignored: a container platform set it for a service named kv");
                continue;
            }

            var line = new ConfigLine(ConfigLine.Environment, $"{variable}={(option.IsSecret ? "***" : value)}",
                [option.Name, value]);
            if (!givenBy.TryAdd(option, variable))
            {
                problems.Add(line.Problem($"{givenBy[option]} sets the same option", "unset one of the two"));
                continue;
            }

            if (isFile)
            {
                if (!TryReadSecret(value, out string content, out string why))
                {
                    problems.Add(line.Problem(why, "name a file that this user may read, with the value in it"));
                    continue;
                }

                line = line with { Words = [option.Name, content] };
            }

            lines.Add(line);
        }
    }

    private static Option? Find(string variable, out bool isFile)
    {
        Debug.Assert(variable.StartsWith(Prefix, StringComparison.Ordinal), "the prefix was looked at");
        isFile = false;
        if (FindNormalized(NameOf(variable)) is { } option) return option;
        if (!variable.EndsWith(FileSuffix, StringComparison.Ordinal)) return null;
        isFile = true;
        return FindNormalized(NameOf(variable[..^FileSuffix.Length]));
    }

    private static string NameOf(string variable) => variable[Prefix.Length..].ToLowerInvariant().Replace('_', '-');

    // A few names of the reference have underscores of their own.
    private static Option? FindNormalized(string name) => name.Length < 2 ? null
        : CommandLine.Find(name) ?? OptionTable.Rows.FirstOrDefault(o => o.Name.Replace('_', '-') == name);

    /// <summary>The content of a file of at most 64 KB, without the newline that editors end it with.</summary>
    private static bool TryReadSecret(string path, out string content, out string why)
    {
        content = why = "";
        try
        {
            using var file = StartFile.Open(path);
            var bytes = new byte[TextType.CharsMax + 1];
            int count = file.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
            if (count == bytes.Length) why = $"the file is longer than {TextType.CharsMax} bytes";
            else if (!OptionTable.TryDecode(bytes.AsSpan(0, count), out content)) why = "the file is not UTF-8 text";
            if (content.EndsWith('\n')) content = content[..^1];
            if (content.EndsWith('\r')) content = content[..^1];
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException
            or NotSupportedException)
        {
            why = $"cannot read the file: {e.Message}";
        }

        return why.Length == 0;
    }
}
