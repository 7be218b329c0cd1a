using RespBenchmark.CommandLine;

namespace RespBenchmark.Tair;

/// <summary>Writes the lines of a run: on a terminal each state overwrites the line before, in colours; elsewhere they
/// stand one below the other.</summary>
internal sealed class TairScreen(TextWriter output, bool overwrite, bool colours)
{
    private const string LineUp = "\e[F", ClearLine = "\e[2K", BoldBlue = "\e[1;34m", BoldGreen = "\e[1;32m",
        Plain = "\e[0m";

    private static readonly string[] Labels =
        ["command", "connections", "count", "seconds", "pipeline", "qps", "conn", "cnt", "avg", "p99",
            "Data loading qps", "Data loaded, qps"];

    public static TairScreen On(Surroundings surroundings, ProgressForm form) => form switch
    {
        ProgressForm.Tty => new(surroundings.Output, true, false),
        ProgressForm.Plain => new(surroundings.Output, false, false),
        _ => new(surroundings.Output, surroundings.IsTerminal, surroundings.IsTerminal
            && Environment.GetEnvironmentVariable("NO_COLOR") is null),
    };

    /// <summary>The five lines a run begins with.</summary>
    public void Begin(TairOptions options)
    {
        Line("command", colours ? BoldGreen + options.Command + Plain : options.Command);
        Line("connections", options.Connections == 0 ? "auto" : options.Connections.ToString());
        Line("count", options.Requests.ToString());
        Line("seconds", options.Seconds.ToString());
        Line("pipeline", options.Pipeline.ToString());
        output.Flush();
    }

    /// <summary>A line of <see cref="TairText"/>: over the last one where that can be done.</summary>
    public void State(string text)
    {
        output.Write((overwrite ? LineUp + ClearLine : "") + (colours ? Coloured(text) : text) + "\n");
        output.Flush();
    }

    /// <summary>The empty line after the last state.</summary>
    public void End()
    {
        output.Write("\n");
        output.Flush();
    }

    private void Line(string label, string value) =>
        output.Write((colours ? $"{BoldBlue}{label}{Plain}" : label) + $": {value}\n");

    private static string Coloured(string text)
    {
        foreach (string label in Labels)
        {
            int at = text.IndexOf(label + ": ", StringComparison.Ordinal);
            // A label within a longer one ("qps" in "Data loaded, qps") is coloured with that.
            if (at < 0 || (at > 1 && text[..at] is "Data loading " or "Data loaded, ")) continue;
            text = text[..at] + BoldBlue + label + Plain + text[(at + label.Length)..];
        }

        return text;
    }
}
