using System.Globalization;
using System.Text;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Scenarios;

/// <summary>A line of a trace: a key that was asked for, and what it holds.</summary>
/// <param name="TtlSeconds">0: it does not expire.</param>
internal readonly record struct TraceLine(byte[] Key, int Bytes, long TtlSeconds);

/// <summary>A file of requests in their order, a line each: key, bytes of its value and, if it expires, after how many
/// seconds, between commas.</summary>
/// <remarks>Threads: any; the sessions of a run share one, so that it is replayed in its order, and begins again at its
/// end. Read as it is sent: memory does not depend on its length.</remarks>
internal sealed class Trace : IDisposable
{
    private const int BytesMax = 1 << 24;

    private readonly string _path;
    private readonly Lock _lock = new();
    private StreamReader _reader;

    private Trace(string path)
    {
        _path = path;
        _reader = Read(path);
    }

    /// <summary>How many lines it has.</summary>
    public long Count { get; private init; }

    /// <summary>Reads it once, so that a line that is wrong is found before anything is sent.</summary>
    /// <exception cref="UsageException">It cannot be read, has no lines, or a line is wrong.</exception>
    public static Trace Open(string path)
    {
        try
        {
            using StreamReader reader = Read(path);
            long count = 0;
            while (reader.ReadLine() is { } line) Parse(line, path, ++count);
            return count > 0 ? new Trace(path) { Count = count } : throw new UsageException($"trace '{path}' is empty");
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new UsageException($"trace '{path}': {failure.Message}");
        }
    }

    /// <summary>The next request, after the last the first again.</summary>
    public TraceLine Next()
    {
        string? line;
        lock (_lock)
        {
            line = _reader.ReadLine();
            if (line is null)
            {
                Rewind();
                line = _reader.ReadLine();
            }
        }

        return Parse(line ?? throw new UsageException($"trace '{_path}' became empty"), _path, 0);
    }

    /// <summary>Begins with the first again.</summary>
    public void Rewind()
    {
        lock (_lock)
        {
            _reader.Dispose();
            _reader = Read(_path);
        }
    }

    public void Dispose() => _reader.Dispose();

    private static StreamReader Read(string path) => new(path, Encoding.UTF8);

    private static TraceLine Parse(string line, string path, long number)
    {
        string[] words = line.Split(',');
        long ttl = 0;
        if (words.Length is 2 or 3 && words[0].Length > 0
            && int.TryParse(words[1], NumberStyles.None, CultureInfo.InvariantCulture, out int bytes)
            && bytes <= BytesMax && (words.Length == 2
                || long.TryParse(words[2], NumberStyles.None, CultureInfo.InvariantCulture, out ttl)))
            return new TraceLine(Encoding.UTF8.GetBytes(words[0]), bytes, ttl);
        throw new UsageException(
            $"trace '{path}', line {number}: give key,bytes or key,bytes,ttl with at most {BytesMax} bytes, "
            + $"not '{line}'");
    }
}
