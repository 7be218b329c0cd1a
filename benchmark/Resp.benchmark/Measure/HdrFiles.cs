using System.Text;

namespace RespBenchmark.Measure;

/// <summary>The two files of a cell for HDR tools (--hdr DIR): NAME.hlog as the intervals come, NAME.hgrm of all at the
/// end.</summary>
/// <remarks>Threads: the controlling one. Disposing writes the percentile text.</remarks>
internal sealed class HdrFiles : IDisposable
{
    private readonly string _textPath;
    private readonly FileStream _file;
    private readonly HistogramLog _log;
    private readonly Histogram _all = new();

    /// <param name="folder">Made if it is missing.</param>
    /// <param name="name">The cell's label; what does not belong in a file name becomes a hyphen.</param>
    /// <exception cref="IOException">The file cannot be made.</exception>
    public HdrFiles(string folder, string name, DateTimeOffset started, string program)
    {
        Directory.CreateDirectory(folder);
        string path = Path.Combine(folder, FileName(name));
        _textPath = path + ".hgrm";
        _file = File.Create(path + ".hlog");
        _log = new HistogramLog(_file, started, program);
    }

    public void Add(string tag, TimeSpan start, TimeSpan length, Histogram interval)
    {
        _log.Write(tag, start, length, interval);
        _all.Add(interval);
    }

    public void Dispose()
    {
        _log.Dispose();
        _file.Dispose();
        using var text = new StreamWriter(_textPath, append: false,
            new UTF8Encoding(encoderShouldEmitUTF8Identifier: false));
        PercentileText.Write(text, _all);
    }

    private static string FileName(string name)
    {
        var letters = new StringBuilder();
        foreach (char letter in name)
        {
            bool belongs = char.IsLetterOrDigit(letter) || letter is '.' or '_' or '-';
            if (belongs) letters.Append(letter);
            else if (letters.Length > 0 && letters[^1] != '-') letters.Append('-');
        }

        string made = letters.ToString().Trim('-', '.');
        return made.Length > 0 ? made[..Math.Min(made.Length, 120)] : "cell";
    }
}
