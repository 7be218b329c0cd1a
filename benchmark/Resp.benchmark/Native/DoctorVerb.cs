using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>Looks for what spoils figures, without load.</summary>
[Verb("doctor", HelpText = "Check host and server for what spoils figures; no load.")]
internal sealed class DoctorVerb : TargetOptions;
