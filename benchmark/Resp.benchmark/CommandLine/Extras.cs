using RespBenchmark.Engine;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.CommandLine;

/// <summary>The options that every grammar has beside its own: files to write, how to drive, whom to watch.</summary>
internal sealed class Extras
{
    public string? JsonFile { get; private set; }

    public string? CsvFile { get; private set; }

    public string? MarkdownFile { get; private set; }

    public string? HtmlFile { get; private set; }

    public string? HdrFolder { get; private set; }

    public ProgressForm Progress { get; private set; }

    /// <summary>0: the engine chooses.</summary>
    public int Loops { get; private set; }

    public SessionModel Model { get; private set; }

    /// <summary>The server's process; 0: found out. -1: not watched.</summary>
    public int ServerProcess { get; private set; }

    public bool Calibrate { get; private set; }

    public bool FailOnSaturation { get; private set; }

    /// <summary>1: the text of the seeds. 2: that of February 2026 and after.</summary>
    public int GarnetFormat { get; private set; } = 1;

    public RedisBenchmarkFormat RedisBenchmarkFormat { get; private set; } = RedisBenchmarkFormat.Seven;

    /// <summary>Whether online mode runs every thread count of its list, or only the first.</summary>
    public bool OnlineSweep { get; private set; } = true;

    public TimeSpan Drain { get; private set; } = TimeSpan.FromSeconds(10);

    public bool WritesFiles => (JsonFile ?? CsvFile ?? MarkdownFile ?? HtmlFile ?? HdrFolder) is not null;

    /// <summary>Reads the option the reader stands on, if it is one of these.</summary>
    public bool TryRead(ArgumentReader reader)
    {
        switch (reader.Word)
        {
            case "--json": JsonFile = reader.Value(); return true;
            case "--csv-file": CsvFile = reader.Value(); return true;
            case "--md": MarkdownFile = reader.Value(); return true;
            case "--html": HtmlFile = reader.Value(); return true;
            case "--hdr": HdrFolder = reader.Value(); return true;
            case "--progress": Progress = (ProgressForm)(1 + reader.Choice("tty", "plain", "off")); return true;
            case "--loops": Loops = ReadLoops(reader); return true;
            case "--session-model": Model = (SessionModel)reader.Choice("auto", "epoll", "thread", "portable");
            return true;
            case "--server-pid": ServerProcess = ReadProcess(reader); return true;
            case "--calibrate": Calibrate = true; return true;
            case "--fail-on-saturation": FailOnSaturation = true; return true;
            case "--garnet-format": GarnetFormat = reader.Int32(1, 2); return true;
            case "--rb-format":
                RedisBenchmarkFormat = (RedisBenchmarkFormat)reader.Choice("legacy", "7", "8");
                return true;
            case "--online-sweep": OnlineSweep = reader.Choice("off", "on") == 1; return true;
            case "--drain": Drain = reader.Duration(); return true;
            default: return false;
        }
    }

    /// <summary>The plan, driven as these options say.</summary>
    public CellPlan Apply(CellPlan plan) =>
        plan with { Loops = Loops > 0 ? Loops : plan.Loops, Model = Model, Drain = Drain };

    public DateTimeOffset Started { get; } = DateTimeOffset.UtcNow;

    /// <summary>Cells so far, in the order they were run.</summary>
    public List<CellOutcome> Outcomes { get; } = [];

    /// <summary>What was warned of before the load.</summary>
    public List<string> Warnings { get; } = [];

    /// <summary>What the target said of itself; null: it was not looked at.</summary>
    public TargetReport? Target { get; set; }

    /// <summary>Why a file that is written while cells run was not; null: all were.</summary>
    public string? Unwritten { get; set; }

    /// <summary>Keeps a cell that was run.</summary>
    public void Add(CellOutcome outcome) => Outcomes.Add(outcome);

    /// <summary>The lines of a help text for these options.</summary>
    public const string Help = """
        Of Resp.benchmark itself, in every grammar:
          --as garnet|redis-benchmark|resp-benchmark|native   which grammar these options are in
          --json F  --csv-file F  --md F  --html F  --hdr DIR   also write the results there
          --loops N            client threads that drive the sessions (default: by cores)
          --session-model auto|epoll|thread|portable
          --drain S            how long to wait for missing replies at the end (default 10)
          --progress tty|plain|off
          --server-pid N|off   the server's process, when it is not found by itself
          --calibrate          also measure the client alone and say the headroom
          --fail-on-saturation exit 3 when the client or the host was the bound
        """;

    /// <summary>Writes what was asked for beside the text, when all cells are run.</summary>
    /// <returns>The exit code as far as these options decide it.</returns>
    public int Finish(Surroundings surroundings, Grammar grammar)
    {
        try
        {
            OutcomeFiles.Write(this, surroundings, grammar);
            if (Unwritten is { } reason) throw new IOException(reason);
            bool isForeign = Outcomes.Any(outcome => outcome.Verdict is Verdict.ClientBound or Verdict.HostBound);
            return FailOnSaturation && isForeign ? ExitCode.Saturated : ExitCode.Ok;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            surroundings.Note(failure.Message);
            return ExitCode.RunError;
        }
    }

    private static int ReadLoops(ArgumentReader reader)
    {
        string text = reader.Value();
        const int loopsMax = 1024;
        if (text == "auto") return 0;
        return int.TryParse(text, out int loops) && loops is > 0 and <= loopsMax
            ? loops
            : throw new UsageException($"--loops takes auto or a number from 1 to {loopsMax}, got '{text}'");
    }

    private static int ReadProcess(ArgumentReader reader)
    {
        string text = reader.Value();
        if (text is "auto" or "off") return text == "off" ? -1 : 0;
        return int.TryParse(text, out int process) && process > 0
            ? process
            : throw new UsageException($"--server-pid takes auto, off or a process id, got '{text}'");
    }
}

/// <summary>How progress is drawn; the default depends on the grammar and on whether stdout is a terminal.</summary>
internal enum ProgressForm
{
    Default,
    Tty,
    Plain,
    Off,
}

/// <summary>Whose text redis-benchmark's grammar prints: that of redis 3 to 5, 7 or 8.</summary>
internal enum RedisBenchmarkFormat
{
    Legacy,
    Seven,
    Eight,
}
