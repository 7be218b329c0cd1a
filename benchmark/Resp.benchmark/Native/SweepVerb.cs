using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>A grid with its cells shuffled, so that drift of the machine does not follow an axis.</summary>
[Verb("sweep", HelpText = "Measure a grid, its cells in shuffled order; two targets: ABBA.")]
internal sealed class SweepVerb : RunVerb;
