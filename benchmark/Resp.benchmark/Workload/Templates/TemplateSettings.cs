namespace RespBenchmark.Workload;

/// <summary>What a template's short placeholders stand for: {key}, {value}, and the tokens of other tools.</summary>
internal sealed record TemplateSettings
{
    public KeySpace Keys { get; init; } = new(1_000_000, KeyFormat.RedisBenchmark, Distribution.Uniform);

    public ValueSpec Value { get; init; } = ValueSpec.Letters(64);
}
