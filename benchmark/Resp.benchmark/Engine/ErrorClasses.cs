using System.Text;
using RespBenchmark.Measure;

namespace RespBenchmark.Engine;

/// <summary>Error replies counted by their first word: 15 words and one class for all others.</summary>
/// <remarks>Threads: its loop's; read when the loop stands still. Allocates when a word is met for the first
/// time.</remarks>
internal sealed class ErrorClasses
{
    public const int ClassesMax = 16;
    private const int TextMax = 256;

    private readonly byte[][] _words = new byte[ClassesMax][];
    private readonly string[] _texts = new string[ClassesMax];
    private readonly long[] _counts = new long[ClassesMax];
    private int _classes;

    /// <summary>The text of the first error; null while there is none.</summary>
    public string? FirstText => _classes > 0 ? _texts[0] : null;

    public void Count(ReadOnlySpan<byte> text)
    {
        int space = text.IndexOf((byte)' ');
        ReadOnlySpan<byte> word = space < 0 ? text : text[..space];
        if (word.Length > TextMax) word = word[..TextMax];
        for (int index = 0; index < _classes; index++)
        {
            if (!word.SequenceEqual(_words[index]) && index != ClassesMax - 1) continue;
            _counts[index]++;
            return;
        }

        _words[_classes] = _classes == ClassesMax - 1 ? "(others)"u8.ToArray() : word.ToArray();
        _texts[_classes] = Encoding.Latin1.GetString(text[..Math.Min(text.Length, TextMax)]);
        _counts[_classes++] = 1;
    }

    public void Reset()
    {
        Array.Clear(_counts);
        _classes = 0;
    }

    /// <summary>The classes of several loops as one list, most frequent first.</summary>
    public static List<ErrorClass> Merge(IEnumerable<ErrorClasses> parts)
    {
        var merged = new Dictionary<string, ErrorClass>();
        foreach (ErrorClasses part in parts)
        {
            for (int index = 0; index < part._classes; index++)
            {
                string word = Encoding.Latin1.GetString(part._words[index]);
                merged[word] = merged.TryGetValue(word, out ErrorClass? known)
                    ? known with { Count = known.Count + part._counts[index] }
                    : new ErrorClass(word, part._counts[index], part._texts[index]);
            }
        }

        return [.. merged.Values.OrderByDescending(one => one.Count).Take(ClassesMax)];
    }
}
