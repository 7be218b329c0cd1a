using global::CommandLine;
using RespBenchmark.Native;

namespace RespBenchmark.Suites;

/// <summary>Reproduces a published table or figure.</summary>
[Verb("suite", HelpText = "Reproduce a published table or figure: suite NAME, or --list.")]
internal sealed class SuiteVerb : RunVerb
{
    [Value(0, MetaName = "NAME", HelpText = "A suite of --list.")]
    public string? Name { get; set; }

    [Option("list", HelpText = "Print all suites with cells, time and memory.")]
    public bool List { get; set; }

    [Option("profile", Default = "laptop",
        HelpText = "full (as published), laptop (keys / 16, 5 s) or smoke (keys / 1024, 1 s).")]
    public string Profile { get; set; } = "laptop";

    [Option("scale", HelpText = "Divide the keys by this instead of what the profile says.")]
    public long? Scale { get; set; }

    [Option("dry-run", HelpText = "Print the plan, run nothing.")]
    public bool DryRun { get; set; }
}
