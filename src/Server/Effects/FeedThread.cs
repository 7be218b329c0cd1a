using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Server.Effects;

/// <summary>The thread <c>kv-feed</c>: puts the entries of all sessions into the order of their tickets, and gives them
/// to the sinks.</summary>
/// <param name="failed">Is told why a sink or a mark threw.</param>
/// <param name="took">Called when entries were taken, and may have made room, before a sink may wait.</param>
/// <remarks>
/// Sinks come and go, and files are cut, at marks between two tickets. The thread begins with the first mark. It sleeps
/// when there is nothing; how long at most hangs on whether a sink wants each entry at once.
/// Threads: its own; <see cref="Wake"/> and the marks from any.
/// </remarks>
internal sealed class FeedThread(Action<Exception> failed, Action took) : IDisposable
{
    /// <summary>Entries are collected up to this size, and larger ones given by themselves.</summary>
    private const int StageBytes = 256 * 1024;

    /// <summary>How long it lets entries collect, and after how many such rests in vain it sleeps until it is
    /// woken.</summary>
    private const int RestMs = 2, RestsMax = 50;

    private const int Awake = 0, Resting = 1, Sleeping = 2;

    private static ReadOnlySpan<byte> Multi => "*1\r\n$5\r\nMULTI\r\n"u8;

    private static ReadOnlySpan<byte> Exec => "*1\r\n$4\r\nEXEC\r\n"u8;

    private readonly SemaphoreSlim _signal = new(0);
    private readonly Lock _guard = new();
    private readonly List<(long Ticket, Action Do)> _marks = [];
    private readonly List<IFeedSink> _sinks = [];
    private readonly HashSet<IFeedSink> _attached = [];
    private readonly List<(int Begin, int Bytes)> _messages = [];        // of what is staged
    private byte[] _stage = [];
    private FeedBuffer[] _buffers = [];
    private Thread? _thread;
    private long _given, _last, _unpublished, _marked = long.MaxValue;
    private int _state, _staged, _database = -1;
    private bool _isEnding, _isUrgent, _isFlushed = true;

    /// <summary>The last ticket whose entry all sinks have.</summary>
    // Volatile: who sees it sees what the sinks did.
    public long Given => Volatile.Read(ref _given);

    /// <inheritdoc cref="Feed.IsUrgent"/>
    public bool IsUrgent
    {
        get => Volatile.Read(ref _isUrgent);
        set => Volatile.Write(ref _isUrgent, value);
    }

    /// <summary>Looks for entries there, too. Before the first of them.</summary>
    public void Add(FeedBuffer buffer)
    {
        lock (_guard) Volatile.Write(ref _buffers, [.. _buffers, buffer]);
    }

    /// <inheritdoc cref="Feed.Attach"/>
    public void Attach(IFeedSink sink, long after)
    {
        lock (_guard) _attached.Add(sink);
        Mark(after, () => _sinks.Add(sink));
    }

    /// <returns>Whether there are other sinks.</returns>
    /// <inheritdoc cref="Feed.Detach"/>
    public bool Detach(IFeedSink sink, long after, Action? onEnd)
    {
        bool areMore;
        lock (_guard)
        {
            _attached.Remove(sink);
            areMore = _attached.Count != 0;
        }

        Mark(after, () =>
        {
            if (_sinks.Contains(sink)) Call(sink, static one => one.Flush());
            _sinks.Remove(sink);
            onEnd?.Invoke();
        });
        return areMore;
    }

    /// <inheritdoc cref="Feed.CutAt"/>
    public void CutAt(long ticket, Action onCut) => Mark(ticket, onCut);

    /// <summary>Wakes it, if it sleeps; or rests, and is wanted at once.</summary>
    public void Wake(bool isUrgent = false)
    {
        // A late look is no harm: before it sleeps it has every thread's writes made visible (a barrier of the whole
        // process), and looks once more.
        int state = Volatile.Read(ref _state);
        if (state == Sleeping || (state == Resting && (isUrgent || IsUrgent))) WakeSlow();
    }

    public void Dispose()
    {
        Thread? thread;
        lock (_guard)
        {
            _isEnding = true;
            thread = _thread;
        }

        WakeSlow();
        thread?.Join();
        _signal.Dispose();
    }

    private void WakeSlow()
    {
        // Exchange: of several who wake it one does.
        if (Interlocked.Exchange(ref _state, Awake) != Awake) _signal.Release();
    }

    private void Mark(long ticket, Action action)
    {
        lock (_guard)
        {
            Debug.Assert(_marks.Count == 0 || _marks[^1].Ticket <= ticket, "marks come in the order of tickets");
            _marks.Add((ticket, action));
            Volatile.Write(ref _marked, _marks[0].Ticket);
            if (_thread == null && !_isEnding)
            {
                _thread = new Thread(Run) { Name = "kv-feed", IsBackground = true };
                _thread.Start();
            }
        }

        WakeSlow();
    }

    private void Run()
    {
        int rests = 0;
        while (true)
        {
            DoMarks();
            if (GiveSome())
            {
                rests = 0;
                continue;
            }

            took();         // as in Give
            GiveStage();
            if (!_isFlushed)
            {
                _isFlushed = true;
                foreach (var sink in _sinks.ToArray()) Call(sink, static one => one.Flush());
            }

            lock (_guard)
            {
                if (_isEnding && _marked != _given) return;
            }

            Sleep(ref rests);
        }
    }

    /// <summary>Sleeps until there is something.</summary>
    private void Sleep(ref int rests)
    {
        int state = rests++ < RestsMax ? Resting : Sleeping;
        Interlocked.Exchange(ref _state, state);
        // What was published by others before they looked at the state can be seen from here on; who publishes later
        // sees the state.
        Interlocked.MemoryBarrierProcessWide();
        bool isAny = Volatile.Read(ref _marked) == _given || _isEnding || Next() != null;
        if (!isAny && state == Sleeping) _signal.Wait();
        else if (!isAny) _signal.Wait(RestMs);
        // Woken by somebody, whose signal is taken; or by itself.
        if (Interlocked.Exchange(ref _state, Awake) == Awake && (isAny || state == Resting)) _signal.Wait(0);
    }

    /// <summary>Does what is to be done between the last entry and the next.</summary>
    private void DoMarks()
    {
        // Ends: with the marks.
        while (Volatile.Read(ref _marked) == _given)
        {
            GiveStage();
            Action action;
            lock (_guard)
            {
                action = _marks[0].Do;
                _marks.RemoveAt(0);
                Volatile.Write(ref _marked, _marks.Count == 0 ? long.MaxValue : _marks[0].Ticket);
            }

            _database = -1;     // what follows begins with SELECT
            try
            {
                action();
            }
            catch (Exception exception)
            {
                failed(exception);
            }
        }
    }

    /// <summary>The buffer that has the entry of the next ticket; null: it is not there yet.</summary>
    private FeedBuffer? Next()
    {
        long next = _given + _unpublished + 1;
        foreach (var buffer in Volatile.Read(ref _buffers))
            if (buffer.FirstTicket == next) return buffer;
        return null;
    }

    /// <summary>Collects entries up to the next mark, or as many as are there.</summary>
    /// <returns>False: none was.</returns>
    private bool GiveSome()
    {
        if (Next() is not { } buffer) return false;
        long ticket = _given;
        // Ends: at a mark, when the next entry is not there yet, or enough is collected.
        while (true)
        {
            if (buffer.FirstTicket != ticket + 1)
            {
                _unpublished = ticket - _given;
                if (Next() is not { } other) break;
                buffer = other;
            }

            var run = buffer.Take(ticket, in _marked, out int entries, out var kind, out int database);
            if (entries == 0) break;        // the mark comes first
            if (_staged + run.Length > StageBytes && _staged > 0) Give(ticket);
            ticket += entries;
            if (kind == FeedRunKind.Commands) Stage(database, run);
            else Stage(run, kind == FeedRunKind.Whole);
            if (_staged >= StageBytes) break;
        }

        _unpublished = 0;
        _last = ticket;
        GiveStage();
        return true;
    }

    private void Stage(ReadOnlySpan<byte> effects, bool isWhole)
    {
        if (effects.Length == 0) return;
        if (isWhole)
        {
            Select(MemoryMarshal.Read<int>(effects));
            Stage(Multi);
        }

        bool hasOnlyMessages = true;
        int start = _staged, earlier = _messages.Count;
        while (effects.Length > 0)
        {
            int database = MemoryMarshal.Read<int>(effects), length = MemoryMarshal.Read<int>(effects[sizeof(int)..]);
            int begin = _staged;
            Stage(database, effects.Slice(EffectBytes.HeadBytes, length));
            if (database == EffectBytes.Message) _messages.Add((begin, _staged - begin));
            else hasOnlyMessages = false;
            effects = effects[(EffectBytes.HeadBytes + length)..];
        }

        if (!isWhole) return;
        Stage(Exec);
        if (!hasOnlyMessages) return;
        _messages.RemoveRange(earlier, _messages.Count - earlier);
        _messages.Add((start - Multi.Length, _staged - start + Multi.Length));
    }

    private void Stage(int database, ReadOnlySpan<byte> commands)
    {
        Select(database);
        Stage(commands);
    }

    private void Select(int database)
    {
        if (database < 0 || database == _database) return;
        _database = database;
        Span<byte> select = stackalloc byte[SelectCommand.BytesMax];
        Stage(select[..SelectCommand.Write(select, database)]);
    }

    private void Stage(ReadOnlySpan<byte> bytes)
    {
        int end = checked(_staged + bytes.Length);
        if (end > _stage.Length)
            Array.Resize(ref _stage, (int)Math.Min(Array.MaxLength, Math.Max(2L * end, StageBytes)));
        bytes.CopyTo(_stage.AsSpan(_staged));
        _staged = end;
    }

    private void GiveStage()
    {
        if (_last <= _given) return;
        Give(_last);
        // Release: the sinks have it.
        Volatile.Write(ref _given, _last);
    }

    private void Give(long lastTicket)
    {
        // Also where nothing changed: somebody may wait until that ticket is on the disk.
        _isFlushed = false;
        // Whoever waits for room goes on before a sink waits for its disk: what was taken has freed chunks.
        took();
        var all = _stage.AsSpan(0, _staged);
        bool allTakeAll = _messages.Count == 0 || _sinks.TrueForAll(static sink => sink.TakesMessages);
        var others = allTakeAll ? all : WithoutMessages(all);
        for (int i = _sinks.Count - 1; i >= 0; i--)
        {
            var sink = _sinks[i];
            try
            {
                sink.Write(sink.TakesMessages ? all : others, _database, lastTicket);
            }
            catch (Exception exception)
            {
                End(sink, exception);
            }
        }

        _staged = 0;
        _messages.Clear();
        if (_stage.Length > 4 * StageBytes) _stage = [];
    }

    private Span<byte> WithoutMessages(ReadOnlySpan<byte> staged)
    {
        byte[] rest = new byte[staged.Length];
        int at = 0, length = 0;
        foreach (var (begin, bytes) in _messages)
        {
            staged[at..begin].CopyTo(rest.AsSpan(length));
            length += begin - at;
            at = begin + bytes;
        }

        staged[at..].CopyTo(rest.AsSpan(length));
        return rest.AsSpan(0, length + staged.Length - at);
    }

    private void Call(IFeedSink sink, Action<IFeedSink> action)
    {
        try
        {
            action(sink);
        }
        catch (Exception exception)
        {
            End(sink, exception);
        }
    }

    private void End(IFeedSink sink, Exception exception)
    {
        _sinks.Remove(sink);
        failed(exception);
        sink.Fail(exception);
    }
}
