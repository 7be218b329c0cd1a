using System.Collections.Immutable;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Configuration;

namespace Kv.Server.Persistence.Aof;

//   file appendonly.aof.2.base.rdb seq 2 type b        what there was as of one instant
//   file appendonly.aof.3.incr.aof seq 3 type i        what came after it, in this order
//   file appendonly.aof.4.incr.aof seq 4 type i
//   #KV1 0123abcd                                      CRC32C of all lines above, in a comment, which Redis skips
//
//   Source: the format is that of Redis 7.0; redis-server reads ours, we read its.

/// <summary>Which files make up the append-only file.</summary>
/// <remarks>Immutable: a change is a new one, which is on the disk before anything counts on it.</remarks>
internal sealed record AofManifest
{
    /// <summary>The longest line that Redis reads.</summary>
    private const int LineBytesMax = 1024;

    private const string SumPrefix = "#KV1 ";

    /// <summary>With eight digits and the newline.</summary>
    private const int SumLineBytes = 14;

    public static readonly AofManifest Empty = new();

    public AofFileInfo? Base { get; private init; }

    /// <summary>In the order of their numbers.</summary>
    public ImmutableArray<AofFileInfo> Increments { get; private init; } = [];

    public ImmutableArray<AofFileInfo> History { get; private init; } = [];

    /// <summary>The number of the last base that there was.</summary>
    public long BaseSequence { get; private init; }

    /// <summary>The number of the last increment that there was.</summary>
    public long IncrementSequence { get; private init; }

    /// <summary>What is to be loaded, in this order.</summary>
    public IEnumerable<AofFileInfo> Files => Base == null ? Increments : Increments.Prepend(Base);

    /// <summary>With one more increment at the end.</summary>
    public AofManifest WithIncrement(AofFileInfo file) => this with
    {
        Increments = Increments.Add(file), IncrementSequence = file.Sequence,
    };

    /// <summary>With another base, after which only some of the increments count.</summary>
    /// <param name="keepFrom">The number of the first increment that comes after the base.</param>
    public AofManifest WithBase(AofFileInfo file, long keepFrom)
    {
        Debug.Assert(file.Type == AofFileType.Base, "the file is a base");
        var old = Increments.Where(increment => increment.Sequence < keepFrom);
        if (Base != null) old = old.Prepend(Base);
        return this with
        {
            Base = file, BaseSequence = file.Sequence,
            History = [.. History, .. old.Select(info => info with { Type = AofFileType.History })],
            Increments = [.. Increments.Where(increment => increment.Sequence >= keepFrom)],
        };
    }

    /// <summary>Without the files that have been replaced.</summary>
    public AofManifest WithoutHistory() => this with { History = [] };

    /// <summary>Makes a manifest of the bytes of one.</summary>
    /// <param name="path">What errors call it.</param>
    /// <exception cref="AofException">It is none, or is damaged.</exception>
    public static AofManifest Parse(ReadOnlySpan<byte> bytes, string path)
    {
        if (bytes.IsEmpty) throw Failed(path, 0, "", "Found an empty AOF manifest");
        var manifest = Empty;
        int at = 0;
        for (int line = 1; at < bytes.Length; line++)
        {
            var rest = bytes[at..];
            int length = rest.IndexOf((byte)'\n') + 1;
            string text = Encoding.UTF8.GetString(rest[..(length == 0 ? rest.Length : length)]);
            if (length is 0 or > LineBytesMax && text[0] != '#')
                throw Failed(path, line, text, "The AOF manifest file contains too long line");
            if (length == 0) length = rest.Length;
            if (text[0] == '#') CheckComment(bytes[..at], rest[..length], path, line, isLast: length == rest.Length);
            else manifest = manifest.With(text, path, line);
            at += length;
        }

        return manifest;
    }

    /// <summary>The bytes of the file.</summary>
    public byte[] ToBytes()
    {
        var text = new StringBuilder();
        if (Base != null) Append(Base);
        foreach (var file in History) Append(file);
        foreach (var file in Increments) Append(file);
        byte[] lines = Encoding.UTF8.GetBytes(text.ToString());
        return [.. lines, .. Encoding.ASCII.GetBytes(SumLine(lines))];

        void Append(AofFileInfo file)
        {
            bool isPlain = file.Name.Length > 0
                && file.Name.All(c => c is > ' ' and < '\x7F' and not ('"' or '\'' or '\\'));
            text.Append(CultureInfo.InvariantCulture,
                $"file {(isPlain ? file.Name : ConfigLine.Quote(file.Name))} "
                + $"seq {file.Sequence} type {(char)file.Type}\n");
        }
    }

    private static string SumLine(ReadOnlySpan<byte> lines) =>
        string.Create(CultureInfo.InvariantCulture, $"{SumPrefix}{AofSum.Add(0, lines):x8}\n");

    /// <summary>Compares the sum, if the comment is one. As long as one and none, it is one that was damaged.</summary>
    private static void CheckComment(ReadOnlySpan<byte> before, ReadOnlySpan<byte> comment, string path, int line,
        bool isLast)
    {
        string text = Encoding.UTF8.GetString(comment);
        bool isSum = text.StartsWith(SumPrefix, StringComparison.Ordinal) || comment.Length == SumLineBytes;
        if (isSum && (!isLast || text != SumLine(before)))
            throw Failed(path, line, text, "The checksum of the lines above is another one");
    }

    private AofManifest With(string text, string path, int line)
    {
        var words = ConfigLine.Split(text.Trim(' ', '\t', '\r', '\n'));
        if (words is not { Count: >= 6 } || words.Count % 2 != 0) throw Bad("Invalid AOF manifest file format");
        string name = "", type = "";
        long sequence = 0;
        for (int i = 0; i < words.Count; i += 2)
        {
            string value = words[i + 1];
            if (Is("file", words[i])) name = value;
            else if (Is("seq", words[i]) && !long.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture,
                out sequence)) throw Bad("Invalid AOF manifest file format");
            else if (Is("type", words[i])) type = value;
            else if (words[i] == SumPrefix.TrimEnd()) throw Bad("The line has no end");
        }

        if (name.Contains('/', StringComparison.Ordinal)) throw Bad("File can't be a path, just a filename");
        if (name.Length == 0 || sequence == 0 || type.Length == 0) throw Bad("Invalid AOF manifest file format");
        var file = new AofFileInfo(name, sequence, (AofFileType)type[0]);
        switch (file.Type)
        {
            case AofFileType.Base when Base != null:
                throw Bad("Found duplicate base file information");
            case AofFileType.Base:
                return this with { Base = file, BaseSequence = sequence };
            case AofFileType.History:
                return this with { History = History.Add(file) };
            case AofFileType.Increment when sequence <= IncrementSequence:
                throw Bad("Found a non-monotonic sequence number");
            case AofFileType.Increment:
                return WithIncrement(file);
            default:
                throw Bad("Unknown AOF file type");
        }

        AofException Bad(string what) => Failed(path, line, text, what);
    }

    private static bool Is(string name, string word) => name.Equals(word, StringComparison.OrdinalIgnoreCase);

    private static AofException Failed(string path, int line, string text, string what)
    {
        string shown = text.Trim('\n');
        if (shown.Length > 128) shown = shown[..128];
        return new AofException($"{path}, line {line}: {what}{(shown.Length > 0 ? $": '{shown}'" : "")}");
    }
}
