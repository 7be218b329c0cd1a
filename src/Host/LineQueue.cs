using System.Diagnostics;

namespace Kv.Host;

/// <summary>Lines on their way to the log, which one thread writes: nobody who logs waits for a pipe that is full or a
/// disk that is slow.</summary>
/// <remarks>
/// Bounded: lines that do not fit are dropped and counted, and a line in their place says how many. Threads: any adds.
/// </remarks>
internal sealed class LineQueue : IDisposable
{
    private const int LinesMax = 4096;
    private const int BytesMax = 1024 * 1024;
    private const int EndMs = 1000;

    private readonly object _guard = new();
    private readonly Queue<byte[]> _lines = new();
    private readonly Thread _thread;
    private Stream _output;
    private Stream? _next;
    private Func<long, byte[]>? _droppedLine;
    private long _bytes, _dropped, _reportedDropped;
    private bool _ending;

    public LineQueue(Stream output)
    {
        _output = output;
        _thread = new Thread(Run) { Name = "kv-log", IsBackground = true };
        _thread.Start();
    }

    /// <summary>Lines that were dropped since the start.</summary>
    public long Dropped => Interlocked.Read(ref _dropped);

    /// <summary>Adds a line, or drops it.</summary>
    /// <param name="line">With its end.</param>
    /// <param name="droppedLine">Makes a line that says how many are missing.</param>
    public void Add(byte[] line, Func<long, byte[]> droppedLine)
    {
        Debug.Assert(line.Length > 0 && line[^1] == (byte)'\n', "a line has its end");
        lock (_guard)
        {
            if (_lines.Count >= LinesMax || _bytes + line.Length > BytesMax)
            {
                Interlocked.Increment(ref _dropped);
                _droppedLine = droppedLine;
                return;
            }

            ReportDroppedLatched();
            AddLatched(line);
            Monitor.Pulse(_guard);
        }
    }

    /// <summary>Writes to another stream from now on; the old one is disposed by the thread that writes.</summary>
    public void MoveTo(Stream output)
    {
        lock (_guard)
        {
            _next?.Dispose();
            _next = output;
        }
    }

    /// <summary>Writes what is left, for a second at most; after that the thread is left behind, and its stream with
    /// it.</summary>
    public void Dispose()
    {
        lock (_guard)
        {
            _ending = true;
            Monitor.Pulse(_guard);
        }

        if (!_thread.Join(EndMs)) return;
        _next?.Dispose();
        _output.Dispose();
    }

    private void Run()
    {
        while (Take() is { } lines)
        {
            try
            {
                Move();
                _output.Write(lines);
                _output.Flush();
            }
            catch (Exception)
            {
                // Nobody reads our output, the disk is full, or the process has no descriptor left: serving goes on,
                // and the next lines are tried again.
            }
        }
    }

    /// <summary>Takes all lines, one after another; waits until there are some.</summary>
    /// <returns>Null at the end.</returns>
    private byte[]? Take()
    {
        lock (_guard)
        {
            if (_lines.Count == 0) ReportDroppedLatched();
            while (_lines.Count == 0)
            {
                if (_ending) return null;
                Monitor.Wait(_guard);
            }

            Debug.Assert(_bytes > 0, "the lines that wait have bytes");
            byte[] all = new byte[_bytes];
            int at = 0;
            // Ends: what is queued is bounded.
            while (_lines.TryDequeue(out byte[]? line))
            {
                line.CopyTo(all, at);
                at += line.Length;
            }

            Debug.Assert(at == all.Length, "what was counted is what there was");
            _bytes = 0;
            return all;
        }
    }

    private void Move()
    {
        var old = _output;
        lock (_guard)
        {
            if (_next == null) return;
            (_output, _next) = (_next, null);
        }

        old.Dispose();
    }

    private void AddLatched(byte[] line)
    {
        Debug.Assert(Monitor.IsEntered(_guard), "the lines are the lock's");
        _lines.Enqueue(line);
        _bytes += line.Length;
    }

    /// <summary>Adds a line that says how many have been dropped since the last one, in their place.</summary>
    private void ReportDroppedLatched()
    {
        Debug.Assert(Monitor.IsEntered(_guard) && _reportedDropped <= _dropped, "what is reported was dropped");
        if (_dropped == _reportedDropped || _droppedLine == null) return;
        AddLatched(_droppedLine(_dropped - _reportedDropped));
        _reportedDropped = _dropped;
    }
}
