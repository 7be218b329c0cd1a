using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>Fills the keys, checks that they are there, and ends.</summary>
[Verb("load", HelpText = "Fill the keys, and check that they are there.")]
internal sealed class LoadVerb : WorkloadOptions;
