using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>How cells are driven, measured, judged and reported.</summary>
[Verb("run", HelpText = "Measure one cell, or a grid where options hold lists.")]
internal class RunVerb : WorkloadOptions
{
    [Option('c', "conns", Default = "1", HelpText = "Sessions: a list, or auto.")]
    public string Sessions { get; set; } = "1";

    [Option("scenario", HelpText = "pubsub, blocking, txn, lua, stream-group, lock or cache instead of operations.")]
    public string? Scenario { get; set; }

    [Option("peers", HelpText = "Scenario: subscribers, poppers, consumers (default: as many as --conns).")]
    public int? Peers { get; set; }

    [Option("maxmemory", HelpText =
        "A list (64mb,1gb): a cell with the server's maxmemory set to each; needs --flush.")]
    public string? MaxMemory { get; set; }

    [Option('d', "depth", Default = "1", HelpText = "Operations outstanding per session: a list.")]
    public string Depths { get; set; } = "1";

    [Option("mode", HelpText = "batch (send depth, wait for all) or window (keep depth outstanding, default).")]
    public string? Mode { get; set; }

    [Option("loops", Default = "auto", HelpText = "Client threads.")]
    public string Loops { get; set; } = "auto";

    [Option("session-model", Default = "auto", HelpText = "auto, epoll, thread or portable.")]
    public string Model { get; set; } = "auto";

    [Option("cores", HelpText = "Processors to pin loops to: 0-3,5.")]
    public string? Cores { get; set; }

    [Option("warmup", Default = "2s", HelpText = "Driven alike before each measurement, and discarded.")]
    public string Warmup { get; set; } = "2s";

    [Option("duration", Default = "15s", HelpText = "How long to measure.")]
    public string Duration { get; set; } = "15s";

    [Option("ops", HelpText = "Operations to send instead of a duration.")]
    public long? Ops { get; set; }

    [Option("drain", Default = "10s", HelpText = "How long missing replies are waited for.")]
    public string Drain { get; set; } = "10s";

    [Option("cooldown", Default = "1s", HelpText = "Quiet time between measurements.")]
    public string Cooldown { get; set; } = "1s";

    [Option("reps", Default = 1, HelpText = "Repetitions of each cell; publish with 5.")]
    public int Repetitions { get; set; } = 1;

    [Option("rate", HelpText = "Open loop: operations a second, 50k, 1M, or % of the closed loop's.")]
    public string? Rate { get; set; }

    [Option("arrival", Default = "poisson", HelpText = "poisson, uniform or burst:N.")]
    public string Arrival { get; set; } = "poisson";

    [Option("max-inflight", Default = 1024, HelpText = "Open loop: operations outstanding per session.")]
    public int InflightMax { get; set; } = 1024;

    [Option("co", Default = "intended", HelpText =
        "Coordinated omission: intended, none, or expected:US to correct a closed loop.")]
    public string Omission { get; set; } = "intended";

    [Option("verify", Default = "frame", HelpText = "frame, sample:P (percent of GET replies) or value (all).")]
    public string Verify { get; set; } = "frame";

    [Option("on-error", Default = "count", HelpText = "count or abort.")]
    public string OnError { get; set; } = "count";

    [Option("pct", Default = "50,90,95,99,99.9,max", HelpText = "Percentiles to print.")]
    public string Percentiles { get; set; } = "50,90,95,99,99.9,max";

    [Option("digits", Default = 3, HelpText = "Significant digits printed, 2 to 4.")]
    public int Digits { get; set; } = 3;

    [Option("interval", Default = "1s", HelpText = "Length of the intervals of series and .hlog files.")]
    public string Interval { get; set; } = "1s";

    [Option("json", HelpText = "Write the report as JSON.")]
    public string? Json { get; set; }

    [Option("csv", HelpText = "Write the repetitions as CSV.")]
    public string? Csv { get; set; }

    [Option("csv-format", HelpText = "rb: the columns of redis-benchmark --csv.")]
    public string? CsvFormat { get; set; }

    [Option("md", HelpText = "Write the tables as Markdown.")]
    public string? Markdown { get; set; }

    [Option("html", HelpText = "Write the report as one HTML file.")]
    public string? Html { get; set; }

    [Option("hdr", HelpText = "Folder for .hlog and .hgrm files.")]
    public string? Hdr { get; set; }

    [Option("quiet", HelpText = "Print no table.")]
    public bool Quiet { get; set; }

    [Option("progress", HelpText = "tty, plain or off.")]
    public string? Progress { get; set; }

    [Option("server-pid", Default = "auto", HelpText = "auto, a process id, or off.")]
    public string ServerProcess { get; set; } = "auto";

    [Option("pin-client", HelpText = "Processors for this program: 2-3.")]
    public string? PinClient { get; set; }

    [Option("pin-server", HelpText = "Processors for a server that --start starts.")]
    public string? PinServer { get; set; }

    [Option("calibrate", HelpText = "Measure the client alone too and print its headroom.")]
    public bool Calibrate { get; set; }

    [Option("probe", HelpText = "Repeat 2 s with twice the sessions: was the load the limit?")]
    public bool Probe { get; set; }

    [Option("fail-on-saturation", HelpText = "Exit 3 when client or host was the bound.")]
    public bool FailOnSaturation { get; set; }

    [Option("baseline", HelpText = "A report to compare with.")]
    public string? Baseline { get; set; }

    [Option("fail-if", HelpText = "A gate: 'p99.ratio>1.10', 'ops_s<100000'; exit 4 when it is passed.")]
    public IEnumerable<string> FailIf { get; set; } = [];

    [Option("start", HelpText = "NAME=command: start the server of that target, stop it afterwards.")]
    public IEnumerable<string> Start { get; set; } = [];

    [Option("restart", Default = "each-rep", HelpText = "each-rep, each-cell or never, for started servers.")]
    public string Restart { get; set; } = "each-rep";

    /// <summary>The same options to be changed apart.</summary>
    public RunVerb Copy() => (RunVerb)MemberwiseClone();
}
