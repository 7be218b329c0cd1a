using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Measure;
using Spectre.Console;

namespace RespBenchmark.Native;

/// <summary>The line that moves while a cell runs: on a terminal only, at most four times a second, from counters.</summary>
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

    /// <summary>Draws the line anew.</summary>
    /// <param name="whole">How long the cell lasts; zero: not known.</param>
    public void Show(string label, TimeSpan elapsed, TimeSpan whole, RunCounters counters)
    {
        if (_console is null) return;
        if (elapsed < _before) (_before, _opsBefore) = (TimeSpan.Zero, 0);
        double seconds = (elapsed - _before).TotalSeconds;
        double rate = seconds > 0 ? (counters.Ops - _opsBefore) / seconds : 0;
        (_before, _opsBefore) = (elapsed, counters.Ops);

        double share = whole > TimeSpan.Zero ? Math.Clamp(elapsed / whole, 0, 1) : 0;
        int full = (int)(share * BarCells);
        TimeSpan left = whole > elapsed ? whole - elapsed : TimeSpan.Zero;
        string errors = counters.Errors > 0 ? string.Create(CultureInfo.InvariantCulture, $"  [red]{counters.Errors} errors[/]") : "";
        Clear();
        _console.Markup(string.Create(CultureInfo.InvariantCulture,
            $"[green]{new string('━', full)}[/][grey]{new string('━', BarCells - full)}[/] {Markup.Escape(label)}  {elapsed.TotalSeconds:F0} s  [bold]{rate:N0}[/] ops/s  {left.TotalSeconds:F0} s left{errors}"));
    }

    /// <summary>Takes the line away.</summary>
    public void Clear() => _console?.Write(new ControlCode("\r\e[2K"));
}
