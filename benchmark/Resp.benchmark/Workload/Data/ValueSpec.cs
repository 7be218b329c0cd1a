using System.Globalization;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>The values of a workload: their lengths and their content.</summary>
internal sealed class ValueSpec
{
    private const long FileBytesMax = 64 * 1024 * 1024;

    private readonly Sizes _sizes;
    private readonly IReadOnlyList<byte[]>? _lines;
    private readonly Lazy<TextPool> _pool;

    private ValueSpec(Sizes sizes, Func<TextPool> pool, ValueVerifier? verifier = null,
        IReadOnlyList<byte[]>? lines = null)
    {
        _sizes = sizes;
        _lines = lines;
        _pool = new Lazy<TextPool>(pool);
        Verifier = verifier;
    }

    /// <summary>Checks the values read; null: they cannot be checked.</summary>
    public ValueVerifier? Verifier { get; }

    public double MeanBytes => _lines is null ? _sizes.Mean : _lines.Average(line => line.Length);

    public long MaxBytes => _lines is null ? _sizes.Max : _lines.Max(line => line.Length);

    /// <summary>Letters and digits, all of one length.</summary>
    public static ValueSpec Letters(long bytes) => new(Sizes.Of(bytes), () => TextPool.Letters());

    /// <summary>Any bytes.</summary>
    public static ValueSpec AnyBytes(Sizes sizes) => new(sizes, TextPool.AnyBytes);

    public static ValueSpec Letters(Sizes sizes) => new(sizes, () => TextPool.Letters());

    /// <summary>Reads a length specification, or @file (each line is a value), and random, ratio:R or verify.</summary>
    /// <exception cref="UsageException">It is none of them.</exception>
    public static ValueSpec Parse(string text, string data = "random", ulong seed = 1)
    {
        if (text.StartsWith('@')) return OfFile(text[1..]);
        Sizes sizes = Sizes.Parse(text);
        if (data == "random") return Letters(sizes);
        if (data == "verify")
        {
            return sizes.IsConstant && sizes.Max < ValueVerifier.HeadBytes
                ? throw new UsageException(
                    $"value '{text}': values that can be verified take at least {ValueVerifier.HeadBytes} bytes")
                : new ValueSpec(sizes, () => TextPool.Letters(), new ValueVerifier(seed));
        }

        if (data.StartsWith("ratio:", StringComparison.Ordinal)
            && double.TryParse(data[6..], CultureInfo.InvariantCulture, out double ratio) && ratio is >= 1 and <= 256)
            return new ValueSpec(sizes, () => TextPool.Letters(ratio));
        throw new UsageException($"data '{data}': give random, ratio:R (1 to 256) or verify");
    }

    /// <summary>A value drawn anew.</summary>
    /// <param name="key">The command's key, which a verifiable value carries.</param>
    public Field Value(Field? key, bool isLoad = false)
    {
        if (_lines is not null) return new PickField(_lines);
        if (Verifier is not null && key is not null) return new VerifiedValueField(Verifier, _sizes, key, isLoad);
        return new SliceField(_pool.Value, _sizes);
    }

    /// <summary>A slice of a value's content, of another length.</summary>
    public Field Slice(long bytes) => new SliceField(_pool.Value, Sizes.Of(bytes));

    private static ValueSpec OfFile(string path)
    {
        try
        {
            if (new FileInfo(path).Length > FileBytesMax)
                throw new UsageException($"value file '{path}' is longer than 64 MiB");
            byte[] content = File.ReadAllBytes(path);
            var lines = new List<byte[]>();
            foreach (Range line in content.AsSpan().Split((byte)'\n'))
                lines.Add([.. content.AsSpan(line).TrimEnd((byte)'\r')]);
            if (lines[^1].Length == 0) lines.RemoveAt(lines.Count - 1);
            return lines.Count > 0
                ? new ValueSpec(Sizes.Of(0), () => TextPool.Letters(), lines: lines)
                : throw new UsageException($"value file '{path}' is empty");
        }
        catch (IOException failure)
        {
            throw new UsageException($"value file '{path}': {failure.Message}");
        }
        catch (UnauthorizedAccessException failure)
        {
            throw new UsageException($"value file '{path}': {failure.Message}");
        }
    }
}
