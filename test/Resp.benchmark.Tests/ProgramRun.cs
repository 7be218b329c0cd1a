using RespBenchmark.CommandLine;

namespace RespBenchmark.Tests;

/// <summary>One run of the whole program in this process: exit code, stdout, stderr.</summary>
internal sealed record ProgramRun(int ExitCode, string Output, string Errors)
{
    /// <summary>The longest a run of these tests may take; then it is interrupted, which no test expects.</summary>
    private static readonly TimeSpan Watchdog = TimeSpan.FromSeconds(180);

    public static ProgramRun Of(params string[] words) => As("Resp.benchmark", words);

    public static ProgramRun As(string program, string[] words, string input = "")
    {
        using var interrupt = new Interrupt();
        return With(program, words, interrupt, input);
    }

    /// <summary>A run that gets a signal as soon as stdout holds a text.</summary>
    public static ProgramRun InterruptedAt(string text, string program, params string[] words)
    {
        using var interrupt = new Interrupt();
        return With(program, words, interrupt, "", text);
    }

    public static ProgramRun With(string program, string[] words, Interrupt interrupt, string input = "",
        string? interruptAt = null)
    {
        using var output = new WatchedWriter(interruptAt, interrupt);
        using var errors = new StringWriter();
        using var watchdog = new Timer(_ => interrupt.Raise(), null, Watchdog, Timeout.InfiniteTimeSpan);
        int exitCode = Entry.Run(program, words, new Surroundings
        {
            Output = TextWriter.Synchronized(output), Errors = TextWriter.Synchronized(errors), Interrupt = interrupt,
                Words = words,
            Input = new MemoryStream(System.Text.Encoding.UTF8.GetBytes(input)),
        });
        return new ProgramRun(exitCode, output.ToString(), errors.ToString());
    }

    /// <summary>Raises a signal, from a thread of its own as the system does, when what was written holds a
    /// text.</summary>
    private sealed class WatchedWriter(string? text, Interrupt interrupt) : StringWriter
    {
        private bool _raised;

        public override void Write(string? value)
        {
            base.Write(value);
            if (text is null || _raised || !ToString().Contains(text, StringComparison.Ordinal)) return;
            _raised = true;
            ThreadPool.QueueUserWorkItem(_ => interrupt.Raise());
        }
    }
}
