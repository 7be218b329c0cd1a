using Microsoft.Extensions.Logging;

namespace Kv.Server.Scripting;

/// <summary>Has other threads read and compile the texts of scripts that take long, and run those of libraries: no
/// worker waits for them.</summary>
/// <remarks>
/// One after the other, so that however many clients send them, the workers have the processors; with a thread for each
/// kind, so that nobody waits for a very large one, or for a library that has no end. So the tree of one very large
/// text is in memory at a time. Threads: any.
/// </remarks>
internal sealed class LargeTexts(ILogger log) : IDisposable
{
    /// <summary>Shorter ones are read by the worker at once: some ms.</summary>
    public const int TextBytesMin = 16 << 10;

    private const int VeryLargeBytes = 1 << 20;

    private readonly TextThread _texts = new("kv-text", log), _veryLarge = new("kv-large-text", log),
        _libraries = new("kv-library", log);

    /// <summary>Runs what reads a text of a length.</summary>
    public void Start(int textBytes, Action work) => (textBytes < VeryLargeBytes ? _texts : _veryLarge).Start(work);

    /// <summary>Runs what reads a library, or several, of a length, and runs it.</summary>
    public void StartLibrary(int textBytes, Action work) =>
        (textBytes < VeryLargeBytes ? _libraries : _veryLarge).Start(work);

    /// <summary>Returns when all of them are read.</summary>
    public void Dispose()
    {
        _texts.Dispose();
        _veryLarge.Dispose();
        _libraries.Dispose();
    }
}
