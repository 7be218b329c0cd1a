namespace RespBenchmark.Workload;

/// <summary>How a data set is written before a measurement: every key once, in order, a slice for each
/// session.</summary>
internal sealed class LoadPlan
{
    private const int PairsMax = 4096;
    private const long CommandBytesMax = 16 * 1024 * 1024;
    private const int DigitsMax = 18;           // of a number that INCR can still count up

    /// <summary>Commands outstanding per session where each writes one key, and where each is long.</summary>
    private const int ShortDepth = 1024, LongDepth = 2;

    private LoadPlan()
    {
    }

    public required Workload Workload { get; init; }

    public required int Sessions { get; init; }

    public required int Depth { get; init; }

    public required long Keys { get; init; }

    /// <summary>The keys' names, for samples; null: it is not known what was written.</summary>
    public KeyFormat? Format { get; init; }

    /// <summary>Values can be checked whole; null: only that they are there.</summary>
    public ValueVerifier? Verifier { get; init; }

    /// <summary>As results call it: MSET, SET, MPFADD.</summary>
    public required string Name { get; init; }

    /// <summary>Keys of a batch, before cutting.</summary>
    public required long BatchKeys { get; init; }

    /// <summary>The bytes of such a batch, the largest.</summary>
    public required long BatchBytes { get; init; }

    /// <summary>Keys of one command on the wire.</summary>
    public required long PairsPerCommand { get; init; }

    /// <summary>Whether batches were too long for one command.</summary>
    public bool IsCut => PairsPerCommand < BatchKeys && Name == "MSET";

    public double ValueBytes { get; init; }

    /// <summary>The load of an operation.</summary>
    /// <param name="sessions">At most so many.</param>
    /// <param name="withSet">SET instead of MSET.</param>
    /// <param name="expires">Each key gets the settings' time to live, by SET with EX.</param>
    /// <returns>Null: the operation needs none.</returns>
    public static LoadPlan? For(LoadKind kind, OpSettings settings, int sessions, bool withSet = false,
        bool expires = false)
    {
        if (kind == LoadKind.None) return null;
        long keys = settings.Keys.Count;
        int slices = (int)Math.Min(Math.Max(1, sessions), keys);
        long batch = Math.Min(PairsMax, Math.Max(1, keys / slices));
        bool single = withSet || expires || kind == LoadKind.HyperLogLogs;

        Unit Of(long count, bool isRest, long pairs) => UnitOf(
            kind, settings, new SliceDistribution(slices, pairs, isRest),
            single ? 0 : count, expires);

        long pairBytes = UnitShape.Compile(Of(1, false, 1)).BytesMaxOf(0);
        long perCommand = single ? 1 : Math.Clamp(CommandBytesMax / pairBytes, 1, batch);
        List<Unit> units = [Of(perCommand, false, perCommand)];
        long longer = LoadSchedule.RestOf(keys, slices, perCommand, 0),
            shorter = LoadSchedule.RestOf(keys, slices, perCommand, slices - 1);
        if (longer > 0) units.Add(Of(longer, true, perCommand));
        if (shorter > 0 && shorter != longer) units.Add(Of(shorter, true, perCommand));
        long commands = 0;
        for (int slice = 0; slice < slices; slice++)
            commands += (Slice.Of(keys, slices, slice).Length + perCommand - 1) / perCommand;

        return new LoadPlan
        {
            Workload = new ShapedWorkload(units, _ => new LoadSchedule(keys, slices, perCommand)) {
                CommandsInAll = commands },
            Sessions = slices, Depth = single ? ShortDepth : LongDepth, Keys = keys, Format = settings.Keys.Format,
            Verifier = kind == LoadKind.Strings && !settings.ValueIsKey ? settings.Value.Verifier : null,
            Name = kind == LoadKind.HyperLogLogs ? "MPFADD" : single ? "SET" : "MSET",
            BatchKeys = batch, PairsPerCommand = perCommand, ValueBytes = settings.Value.MeanBytes,
            BatchBytes = single ? batch * pairBytes : UnitShape.Compile(Of(batch, false, batch)).BytesMaxOf(0),
        };
    }

    /// <summary>A load by a template that ends: what it wrote is its own affair.</summary>
    public static LoadPlan Of(ShapedWorkload template, int sessions, long commands) => new()
    {
        Workload = template, Sessions = (int)Math.Clamp(commands, 1, sessions), Depth = ShortDepth, Keys = commands,
        Name = template.Kinds[0].Name, BatchKeys = 1, BatchBytes = template.BatchBytes(1), PairsPerCommand = 1,
    };

    /// <param name="pairs">Of an MSET; 0: a command for each key.</param>
    private static Unit UnitOf(LoadKind kind, OpSettings settings, Distribution slices, long pairs, bool expires)
    {
        Argument key = (settings.Keys with { Distribution = slices }).Key();
        Argument value = kind == LoadKind.Digits ? Digits(settings.Value.MaxBytes)
            : settings.ValueIsKey ? key.Again()
            : settings.Value.Value(key.Field, isLoad: true);
        if (kind == LoadKind.HyperLogLogs)
            return Unit.Of(new CommandKind("PFADD", ReplyRule.Integer, ReplyBytes: 8), "PFADD", key, value);
        var done = new CommandKind("SET", ReplyRule.Status, ReplyBytes: 8);
        if (pairs > 0)
        {
            return Unit.Of(new Command(done with { Name = "MSET", Ops = (int)pairs },
                [new Repeated(["MSET"]), new Repeated([key, value], pairs)]));
        }

        return expires ? Unit.Of(done, "SET", key, value, "EX", settings.Seconds()) : Unit.Of(done, "SET", key, value);
    }

    private static NumberField Digits(long bytes)
    {
        int digits = (int)Math.Clamp(bytes, 1, DigitsMax);
        long least = (long)Math.Pow(10, digits - 1);
        return new NumberField(Distribution.Uniform, 9 * least, digits, from: least);
    }
}
