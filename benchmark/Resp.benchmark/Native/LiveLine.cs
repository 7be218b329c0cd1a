using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Measure;
using Spectre.Console;

namespace RespBenchmark.Native;

/// <summary>The line that moves while a cell runs: on a terminal only, at most four times a second, from
/// counters.</summary>
internal sealed class LiveLine
{
    private const int BarCells = 20;

    private readonly IAnsiConsole? _console;
    private TimeSpan _before;
    private long _opsBefore;

    /// <param name="form">Tty draws it, anything else does not.</param>
    public LiveLine(Surroundings surroundings, ProgressForm form)
    {
        bool draws = form == ProgressForm.Tty || (form == ProgressForm.Default && surroundings.IsTerminal);
        if (!draws) return;
        bool colours = Environment.GetEnvironmentVariable("NO_COLOR") is null;
        _console = AnsiConsole.Create(new AnsiConsoleSettings
        {
            Ansi = AnsiSupport.Yes,
            ColorSystem = colours ? ColorSystemSupport.Standard : ColorSystemSupport.NoColors,
            Out = new AnsiConsoleOutput(surroundings.Errors),
        });
    }

    /// <summary>The line as the options of a verb ask for.</summary>
    /// <exception cref="UsageException">--progress is off.</exception>
    public static LiveLine Of(RunVerb verb, Surroundings surroundings) => new(surroundings, verb.Progress switch
    {
        null => ProgressForm.Default,
        "tty" => ProgressForm.Tty,
        "plain" => ProgressForm.Plain,
        "off" => ProgressForm.Off,
        _ => throw new UsageException($"--progress takes tty, plain or off, not '{verb.Progress}'"),
    });

    public TimeSpan Period => TimeSpan.FromMilliseconds(250);

    /// <summary>Which cell of how many is running; 0: not known.</summary>
    public int Cell { get; set; }

    public int CellsInAll { get; set; }

    /// <summary>Draws the line anew.</summary>
    /// <param name="whole">How long the cell lasts; zero: not known.</param>
    /// <param name="p99">Of the last interval, in µs; null: not known.</param>
    public void Show(string label, TimeSpan elapsed, TimeSpan whole, RunCounters counters, double? p99 = null)
    {
        if (_console is null) return;
        if (elapsed < _before) (_before, _opsBefore) = (TimeSpan.Zero, 0);
        double seconds = (elapsed - _before).TotalSeconds;
        double rate = seconds > 0 ? (counters.Ops - _opsBefore) / seconds : 0;
        (_before, _opsBefore) = (elapsed, counters.Ops);

        TimeSpan left = whole > elapsed ? whole - elapsed : TimeSpan.Zero;
        string cell = CellsInAll > 1 ? string.Create(CultureInfo.InvariantCulture, $"{Cell}/{CellsInAll} ") : "";
        string slow = p99 is { } known ? string.Create(CultureInfo.InvariantCulture, $"  p99 {known:N0} µs") : "";
        string errors = counters.Errors > 0
            ? string.Create(CultureInfo.InvariantCulture, $"  {counters.Errors} errors") : "";
        string before = string.Create(CultureInfo.InvariantCulture, $" {cell}{label}  {elapsed.TotalSeconds:F0} s  "),
            fast = rate.ToString("N0", CultureInfo.InvariantCulture);
        string after = string.Create(CultureInfo.InvariantCulture, $" ops/s{slow}  {left.TotalSeconds:F0} s left");
        Fit(ref before, fast.Length + after.Length + errors.Length, out int bar);
        int full = whole > TimeSpan.Zero ? (int)(Math.Clamp(elapsed / whole, 0, 1) * bar) : 0;
        Clear();
        _console.Markup(
            $"[green]{new string('━', full)}[/][grey]{new string('━', bar - full)}[/]"
            + $"{Markup.Escape(before)}[bold]{fast}[/]{after}[red]{errors}[/]");
    }

    /// <summary>A line that went on below could not be taken away again: the bar gives way first, then what is run is
    /// cut.</summary>
    private void Fit(ref string text, int others, out int bar)
    {
        int width = _console!.Profile.Width - 1;        // the last column would begin a new line on some terminals
        bar = Math.Clamp(width - others - text.Length, 0, BarCells);
        int over = others + text.Length - width;
        if (over > 0) text = text[..Math.Max(0, text.Length - over)];
    }

    /// <summary>Takes the line away.</summary>
    public void Clear() => _console?.Write(new ControlCode("\r\e[2K"));
}
