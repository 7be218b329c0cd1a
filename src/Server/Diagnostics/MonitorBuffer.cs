using Kv.Server.PubSub;

namespace Kv.Server.Diagnostics;

/// <summary>Lines of the commands of a script that may still begin anew, when they are as if they had never
/// run.</summary>
/// <remarks>Threads: the one that runs the script.</remarks>
internal sealed class MonitorBuffer(Monitors monitors)
{
    /// <summary>Of more, the first are shown at once: a script that only reads may call any number of
    /// commands.</summary>
    private const int BytesMax = 256 * 1024;

    private readonly List<SharedMessage> _lines = [];
    private int _bytes;

    /// <summary>Keeps a line; takes the caller's reference.</summary>
    public void Add(SharedMessage line)
    {
        _lines.Add(line);
        _bytes += line.Length;
        if (_bytes > BytesMax) Show();
    }

    /// <summary>What has run counts.</summary>
    public void Show()
    {
        foreach (var line in _lines) monitors.Push(line);
        Clear();
    }

    /// <summary>What has run will run again.</summary>
    public void Drop()
    {
        foreach (var line in _lines) line.Release();
        Clear();
    }

    private void Clear()
    {
        _lines.Clear();
        _bytes = 0;
    }
}
