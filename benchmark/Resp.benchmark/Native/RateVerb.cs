using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>Latency against offered rate.</summary>
[Verb("rate", HelpText = "Measure latency at a ladder of offered rates, and find the knee.")]
internal sealed class RateVerb : RunVerb
{
    [Option("rate-sweep", Default = "auto",
        HelpText = "a:b:n - n rates from a to b; auto: 10 to 95 % of the closed loop's.")]
    public string Sweep { get; set; } = "auto";
}
