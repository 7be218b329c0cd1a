using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.Native;

/// <summary>Makes a workload, and the load that goes before it, of their options.</summary>
internal sealed class WorkloadReader
{
    private readonly WorkloadOptions _options;
    private readonly KeySpace _keys;
    private readonly ValueSpec _value;
    private readonly (long From, long To)? _ttl;

    /// <exception cref="UsageException">An option's value is off.</exception>
    public WorkloadReader(WorkloadOptions options)
    {
        _options = options;
        if (options.Keys < 1) throw new UsageException($"--keys takes a number from 1, not {options.Keys}");
        KeyFormat format = options.KeyFormat is { } text ? KeyFormat.Parse(text, options.KeyLength)
            : new KeyFormat(options.KeyPrefix,
                options.KeyLength is { } length ? Math.Max(1, length - options.KeyPrefix.Length) : 12);
        _keys = new KeySpace(options.Keys, format, Distribution.Parse(options.Distribution));
        _value = ValueSpec.Parse(options.Value, options.Data, options.Seed);
        _ttl = options.Ttl is { } ttl ? ReadTtl(ttl) : null;
    }

    /// <summary>What reports call the workload.</summary>
    public string Name =>
        _options.Mix ?? (Templates() is { Count: > 0 } templates
            ? string.Join(" | ", templates.Select(one => one.Text)) : Operation);

    public KeySpace Keys => _keys;

    public bool IsVerifiable => _value.Verifier is not null;

    private string Operation => _options.Op?.ToUpperInvariant() ?? "GET";

    /// <summary>The workload at a depth.</summary>
    public ShapedWorkload Workload(int depth)
    {
        OpSettings settings = Settings(depth);
        List<(string Text, int Weight)> templates = Templates();
        if ((_options.Mix is not null ? 1 : 0) + (templates.Count > 0 ? 1 : 0) + (_options.Op is not null ? 1 : 0) > 1)
            throw new UsageException("--op, --mix and --cmd are three ways to say what is sent: give one of them");
        if (templates.Count > 0)
            return Template.Parse(templates, new TemplateSettings { Keys = _keys, Value = _value });
        if (_options.Mix is { } mix)
            return ShapedWorkload.Mix(
                [.. ReadMix(mix).Select(part => (GarnetOps.MixUnit(part.Op, settings), part.Weight))], [],
                _value.Verifier);
        if (GarnetOps.Find(Operation) is { } op) return GarnetOps.Throughput(op, settings);
        if (RedisTests.Find(Operation) is { } test)
            return RedisTests.For(test, (int)Math.Min(_value.MaxBytes, 1 << 30), _options.Keys, _keys.Distribution);
        throw new UsageException(
            $"--op {Operation}: no such operation; a template says any command: --cmd 'HGET {{key uniform "
            + $"1000}} field'");
    }

    /// <summary>The load that goes before; null: none is needed.</summary>
    public LoadPlan? Load()
    {
        if (_options.LoadCommand is { } template)
        {
            long commands = _options.LoadCount ?? _options.Keys;
            ShapedWorkload load = Template.Parse([(template, 1)],
                new TemplateSettings { Keys = _keys with { Distribution = Distribution.Sequence },
                Value = _value }, commands);
            return LoadPlan.Of(load, _options.LoadSessions, commands);
        }

        return LoadPlan.For(Kind(), Settings(1), _options.LoadSessions, expires: _ttl is not null);
    }

    private LoadKind Kind()
    {
        if (_options.Mix is null && Templates().Count == 0) return GarnetOps.Find(Operation)?.Load ?? LoadKind.Strings;
        return LoadKind.Strings;
    }

    private OpSettings Settings(int batch) => new() { Keys = _keys, Value = _value, Batch = batch, Ttl = _ttl };

    private List<(string Text, int Weight)> Templates()
    {
        IEnumerable<string> texts = _options.Commands;
        if (_options.CommandFile is { } file)
        {
            try
            {
                texts = texts.Concat(File.ReadLines(file).Where(line => line.Trim().Length > 0 && line[0] != '#'));
            }
            catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
            {
                throw new UsageException($"--cmd-file {file}: {failure.Message}");
            }
        }

        return [.. texts.Select(Template.SplitWeight)];
    }

    private static IEnumerable<(GarnetOp Op, int Weight)> ReadMix(string text)
    {
        foreach (string part in text.Split(','))
        {
            string[] words = part.Split(':');
            int weight = 1;
            if (words.Length > 2
                || (words.Length == 2
                && (!int.TryParse(words[1], NumberStyles.None, CultureInfo.InvariantCulture, out weight)
                || weight < 1)))
                throw new UsageException($"--mix takes OP:WEIGHT,OP:WEIGHT, not '{text}'");
            yield return (GarnetOps.Find(words[0])
                ?? throw new UsageException($"--mix {text}: no operation {words[0]}"), weight);
        }
    }

    private static (long From, long To) ReadTtl(string text)
    {
        string[] ends = text.Split('-');
        if (ends.Length <= 2 && long.TryParse(ends[0], NumberStyles.None, CultureInfo.InvariantCulture, out long from)
            && long.TryParse(ends[^1], NumberStyles.None, CultureInfo.InvariantCulture, out long to) && from > 0
                && to >= from) return (from, to);
        throw new UsageException($"--ttl takes seconds, or a range like 60-120, not '{text}'");
    }
}
