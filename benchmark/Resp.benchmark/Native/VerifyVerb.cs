using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>Reads all loaded keys back and compares their values.</summary>
[Verb("verify", HelpText = "Read back what load --data verify wrote, and compare every value.")]
internal sealed class VerifyVerb : WorkloadOptions;
