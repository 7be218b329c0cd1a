using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>Compares two JSON reports.</summary>
[Verb("compare", HelpText = "Compare two JSON reports cell by cell, with intervals; --fail-if for gates.")]
internal sealed class CompareVerb
{
    [Value(0, Required = true, MetaName = "BASE.json", HelpText = "What to compare with.")]
    public string Base { get; set; } = "";

    [Value(1, Required = true, MetaName = "NEW.json", HelpText = "What to judge.")]
    public string New { get; set; } = "";

    [Option("fail-if", HelpText = "A gate: 'p99.ratio>1.10', 'ops_s<100000'; exit 4 when it is passed.")]
    public IEnumerable<string> FailIf { get; set; } = [];
}
