namespace RespBenchmark.Workload;

/// <summary>What the commands of a named operation are made from.</summary>
internal sealed record OpSettings
{
    public required KeySpace Keys { get; init; }

    public required ValueSpec Value { get; init; }

    /// <summary>The key is the value too.</summary>
    public bool ValueIsKey { get; init; }

    /// <summary>Operations of a batch; of MGET, MSET and MPFADD elements of a command.</summary>
    public int Batch { get; init; } = 1;

    /// <summary>Seconds: SETEX, EXPIRE of sorted sets online; null: none.</summary>
    public (long From, long To)? Ttl { get; init; }

    /// <summary>Sorted sets online; 0: one.</summary>
    public long SortedSets { get; init; }

    /// <summary>The other end of 0..8·bytes−1, where bits are set.</summary>
    public long Bits => Math.Max(1, Value.MaxBytes) * 8;

    /// <summary>What a GET's reply takes.</summary>
    public int ValueReplyBytes => (int)Math.Min(int.MaxValue, (long)(ValueIsKey ? 16 : Value.MeanBytes) + 16);

    public Argument ValueFor(Argument key) => ValueIsKey ? key.Again() : Value.Value(key.Field);

    public Field Seconds()
    {
        (long from, long to) = Ttl ?? (1, 1);
        return new NumberField(Distribution.Uniform, to - from + 1, from: from);
    }

    /// <summary>As the options of Garnet's benchmark say it.</summary>
    /// <param name="keyLength">0: the digits of <paramref name="keys"/>; online at least those.</param>
    /// <param name="valueLength">0: the key is the value.</param>
    public static OpSettings Garnet(long keys, int keyLength, int valueLength, int batch = 1, bool zipf = false,
        long ttlSeconds = 0, long sortedSets = 0, bool online = false)
    {
        int digits = PaddedDigits.CountFor(keys == long.MaxValue ? keys : keys + 1);
        int width = keyLength == 0 || (online && keyLength < digits) ? digits : keyLength;
        return new OpSettings
        {
            Keys = new KeySpace(keys, KeyFormat.Garnet(width), zipf ? Distribution.Zipf(0.99) : Distribution.Uniform),
            Value = ValueSpec.Letters(valueLength == 0 ? width : valueLength), ValueIsKey = valueLength == 0,
            Batch = batch, SortedSets = sortedSets, Ttl = ttlSeconds > 0 ? (ttlSeconds, ttlSeconds) : null,
        };
    }
}
