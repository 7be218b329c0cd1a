namespace RespBenchmark.Workload;

/// <summary>The keys of a workload: how many, how they are named, which are used how often.</summary>
internal sealed record KeySpace(long Count, KeyFormat Format, Distribution Distribution)
{
    /// <summary>A key drawn anew.</summary>
    public Argument Key() => Format.Argument(Distribution, Count);

    /// <summary>A second one of the same command, which replies are not checked by.</summary>
    public Argument OtherKey() => Format.Argument(Distribution, Count, isKey: false);

    /// <summary>A number below the keys' count.</summary>
    public Field Number() => new NumberField(Distribution.Uniform, Count);
}
