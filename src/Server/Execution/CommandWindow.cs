using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Diagnostics;
using Kv.Server.Effects;
using Kv.Server.Sessions;
using Kv.Server.Tracking;
using Kv.Server.Users;
using Kv.Storage;

namespace Kv.Server.Execution;

//  A group of sessions (at most 16) and their input, and a window of at most 32 commands that moves over it:
//
//   session 0   GET a | GET b | SET c 1 | ... 1,800 more
//   session 1   GET d | GET e
//   session 2   GE                                            (in part: stays)
//
//   Parse     (WindowParser) the next commands in this order: find the row, hash the first key, prefetch its bucket
//   Probe     look into the buckets, prefetch the records found; their addresses are the hints; for a command on a
//             member of a large collection go on: the collection's head, the member's bucket, the member; or the byte
//             of a bit or register
//   Execute   in this order, too; each reply is appended to the output
//
//  A session's commands stand together, so its replies do, too. A window ends early after a command that changes how
//  the next ones are to be read or looked up.

/// <summary>Runs the commands that a group of sessions has sent, some at a time, so that memory is fetched before it is
/// used.</summary>
/// <remarks>
/// Threads: one worker, or whoever holds the lease. The hints live within one turn of the <see cref="StoreSession"/>.
/// Result: each session's commands run strictly in order; looking ahead changes nothing but the time.
/// </remarks>
internal sealed unsafe class CommandWindow : ISessionUser, IDisposable
{
    public const int SessionsMax = 16;

    /// <summary>Replies of more bytes than this leave in the middle of a turn.</summary>
    public const int FlushBytes = 256 * 1024;

    /// <summary>A session with replies of this many bytes in a turn goes on in the next one.</summary>
    private const int ShareBytes = 1024 * 1024;

    /// <summary>The clock is read once in this many windows, so it costs a command less than 0.2 ns. Slow commands read
    /// it themselves.</summary>
    private const int WindowsPerClock = 8;

    /// <summary>With more arguments even a quick command may take long enough for the slow log.</summary>
    private const int QuickArgumentsMax = 64;

    /// <summary>A session that has had a millisecond in a turn goes on in the next one, too: the worker's other
    /// sessions wait no longer.</summary>
    private static readonly long ShareTicks = Stopwatch.Frequency / 1000;

    // In place of an index: none.
    private const int None = -1;

    private readonly KvServer _server;
    private readonly Command[] _commands;
    private readonly StoreSession _store;
    private readonly SessionOutput _output;
    private readonly CommandRunner _runner;
    private readonly Dispatcher _dispatcher;
    private readonly WorkerCounters _counters;
    private readonly Feed _feed;
    private readonly TrackingEngine _tracking;
    private readonly KeyWriter _writer;
    private readonly IWindowOwner _owner;
    private readonly KeySampler _sampler;
    private readonly ArgumentTable _table = new();
    private readonly WindowInput[] _inputs = new WindowInput[SessionsMax];
    private readonly WindowSlot* _slots;
    private readonly WindowParser _parser;
    private readonly Lock _slotsGuard = new();
    private bool _isDisposed;

    private int _inputCount;
    private int _current = None;
    private int _stretch;
    private WindowSlot* _executing;
    private int _executed;
    private int _last;
    private int _windows;
    private int _untilSample = 1;
    private long _shareBegin;

    /// <param name="names">By which names commands are found; null: by those that clients call them by.</param>
    public CommandWindow(KvServer server, StoreSession store, WorkerCounters counters, IWindowOwner owner,
        CommandTable? names = null)
    {
        _server = server;
        _commands = server.Commands.All;
        _store = store;
        _counters = counters;
        _feed = server.Feed;
        _tracking = server.Tracking;
        _writer = server.Tracking.WriterOf(store.Slot);
        _owner = owner;
        _output = new SessionOutput(server.Store);
        _runner = new CommandRunner(server, store, counters, _output);
        _runner.Events.Effects.Wakes = false;       // at the end of a turn
        _dispatcher = new Dispatcher(server, store, _runner, _output);
        _sampler = new KeySampler(server, store);
        const int slots = WindowParser.CommandsMax;
        _slots = (WindowSlot*)NativeMemory.AlignedAlloc((nuint)(slots * sizeof(WindowSlot)), 64);
        new Span<WindowSlot>(_slots, slots).Clear();
        _parser = new WindowParser(server, names ?? server.Commands, store, _inputs, _table, _slots);
        store.User = this;
        store.Presence.AnswersInPause = true;
    }

    /// <inheritdoc/>
    public string? WorkName
    {
        get
        {
            lock (_slotsGuard)      // the slots are not freed meanwhile
            {
                // Races with the turn, on purpose: each word is read whole, and at worst the name is that of the last
                // command.
                int current = _current;
                WindowSlot* executing = _executing;
                if (_isDisposed || executing == null || (uint)current >= SessionsMax
                    || _inputs[current].Session is not { } session) return null;
                int number = executing->Kind.Command;
                var command = (uint)number < (uint)_commands.Length ? _commands[number] : session.LastCommand;
                // A row of several words: the session knows which one it is.
                if (session.LastCommand is { } last && last.Container == command) command = last;
                return command == null ? null : $"{command.FullName} of client {session.Id}";
            }
        }
    }

    public SessionOutput Output => _output;

    /// <summary>Empties the group.</summary>
    public void Begin()
    {
        for (int i = 0; i < _inputCount; i++) _inputs[i].Session = null!;
        _inputCount = 0;
        if (_output.Buffer.Length + _output.ReferenceCount != 0) Discard();
        _output.Buffer.LimitBytes = (int)Math.Min(_server.Options.MaxReplyBytes, OutputBuffer.BytesMax);
    }

    /// <summary>Drops the replies of a turn that failed, and the blocks they refer to: no other session must get
    /// them.</summary>
    private void Discard()
    {
        _output.DropReferences(int.MaxValue);
        _output.Buffer.Clear();
        _executed = 0;
    }

    /// <summary>Adds a session with its unread bytes, which begin with a command.</summary>
    /// <param name="input">Stays put until <see cref="Run"/> returns, readable for the parser's padding past its
    /// length.</param>
    public void Add(Session session, byte* input, int length)
    {
        Debug.Assert(_inputCount < SessionsMax, "a group has at most 16 sessions");
        Debug.Assert(length >= 0, "the input has a length");
        _inputs[_inputCount++] = new WindowInput { Session = session, Start = input, Length = length };
    }

    /// <summary>How many bytes of a session's input have been used up.</summary>
    public int Consumed(int index) => _inputs[index].Position;

    /// <summary>Whether a session has used up its share of the turn, but not its input.</summary>
    public bool HasMore(int index) => _inputs[index].HasMore;

    /// <summary><see cref="Consumed"/> of a group of one, also after the next <see cref="Begin"/>.</summary>
    public int LastConsumed => _inputs[0].Position;

    /// <summary><see cref="HasMore(int)"/> of a group of one, also after the next <see cref="Begin"/>.</summary>
    public bool LastHasMore => _inputs[0].HasMore;

    /// <summary>Runs the complete commands of the group, as many of each session as fit into its share of a turn, and
    /// hands the replies to the owner. What is left of an input begins with a command.</summary>
    public void Run()
    {
        _current = None;
        _windows = 0;
        if (_writer.Author != null) _writer.End();      // of a turn that failed
        Fault.Point("worker.turn");
        _parser.Begin(_inputCount);
        while (_parser.HasMore)
        {
            int count = _parser.Fill();
            KeyProbe.Run(_slots, _slots + count, _table.Items, _store);
            // The next step of a command that has begun stands at the end, and is none.
            int commands = count > 0 && _slots[count - 1].Kind.Command < 0 ? count - 1 : count;
            // Once in a window: for a command it costs less than anything that could be measured.
            if (commands > 0 && (_untilSample -= commands) <= 0) SampleKeys(commands);
            long ran = -(_counters.Commands + _executed);
            Execute(count);
            ran += _counters.Commands + _executed;
            // What a session's share had no time for is parsed anew in its next turn: it is not sampled twice. Below 0
            // after CONFIG RESETSTAT.
            if ((ulong)ran < (ulong)commands) _untilSample += commands - (int)ran;
            if (++_windows % WindowsPerClock == 0) LookAtShare();
        }

        Flush();
        EndSession();
        _feed.Wake();
        for (int i = 0; i < _inputCount; i++)
        {
            ref var input = ref _inputs[i];
            int parsed = input.Parsed - input.Taken;
            if (!input.Stopped) input.Position = parsed;        // also past empty lines, which are no commands
            // Parsed ahead but not run: the state is that of a later command than the one that is first now.
            if (input.Position != parsed) input.Session.Partial.Reset();
            else input.Position = input.Parsed;
            input.HasMore |= input.Session.Partial.IsInterrupted;
            Debug.Assert(input.Position >= 0 && input.Position <= input.Length, "no more was used than was there");
        }
    }

    public void Dispose()
    {
        Begin();
        _table.Dispose();
        _sampler.Dispose();
        _runner.Dispose();
        _output.Dispose();
        lock (_slotsGuard)
        {
            _isDisposed = true;
            NativeMemory.AlignedFree(_slots);
        }
    }

    /// <summary>Notes which keys some commands of the window use.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void SampleKeys(int count)
    {
        Debug.Assert(count > 0 && _untilSample > -count, "the sample is one of the window's commands");
        int at = count - 1 + _untilSample;      // the window's first, if 1 was left
        var context = _runner.NewContext();
        // Ends: a gap is at least 1.
        for (; at < count; at += _sampler.NextGap())
        {
            var slot = _slots + at;
            if (slot->Kind.Command < 0) continue;
            var session = _inputs[slot->Kind.Input].Session;
            context.Args.Begin(_table.Items + slot->First, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint,
                session.Blocks, _table.Large);
            _sampler.Sample(session, _commands[slot->Kind.Command], context.Args, slot->Kind.Key, slot->Hash,
                slot->Database);
        }

        _untilSample = at - count + 1;
    }

    private void Execute(int count)
    {
        int from = 0;
        while (from < count)
        {
            // Ends: each round gets past the command that threw.
            try
            {
                ExecuteFrom(from, count);
                return;
            }
            catch (Exception exception)
            {
                ref var input = ref _inputs[_current];
                int failed = (int)(_executing - _slots);
                CountStretch(failed + 1);
                _store.MayComeAgain = false;
                var failure = exception is KeyInUseException inUse
                    ? TryKeepForLater(_executing, input.Session, inUse) : exception;
                if (failure != null) FailCommand(_executing, input.Session, failure);
                ReleaseBlocks(input.Session);
                LookAtShare();
                from = failed + 1;
            }
        }
    }

    private void FailCommand(WindowSlot* slot, Session session, Exception failure)
    {
        var context = _runner.NewContext();
        context.Session = session;
        context.Command = session.LastCommand!;
        if (slot->Kind.Command >= 0)
        {
            var command = _commands[slot->Kind.Command];
            Argument* items = _table.Items + slot->First;
            context.Args.Begin(items, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint, session.Blocks,
                _table.Large);
            context.Command = slot->Count > 1 ? command.FindSubcommand(items[1].Span) ?? command : command;
        }

        _dispatcher.FailCommand(ref context, failure);
    }

    /// <summary>Keeps a command that is to come again.</summary>
    /// <returns>Null; or why it cannot be kept: there is no memory for it.</returns>
    private OutOfMemoryException? TryKeepForLater(WindowSlot* slot, Session session, KeyInUseException why)
    {
        Debug.Assert(slot->Kind.Command >= 0, "a command that came again is kept already");
        var context = _runner.NewContext();
        context.Session = session;
        context.Args.Begin(_table.Items + slot->First, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint,
            session.Blocks, _table.Large);
        try
        {
            _dispatcher.KeepForLater(session, context.Args.Keep(_server.Store), why);
            return null;
        }
        catch (OutOfMemoryException exception)
        {
            return exception;
        }
    }

    private void ExecuteFrom(int from, int count)
    {
        var context = _runner.NewContext();
        bool guarded = _dispatcher.IsGuarded;
        for (int i = from; i < count;)
        {
            var slot = _slots + i;
            if (slot->Kind.Input != _current) BeginSession(slot->Kind.Input);
            ref var input = ref _inputs[slot->Kind.Input];
            if (input.Stopped)
            {
                i++;
                continue;
            }

            context.Session = input.Session;
            // Asked for each command: a script of this turn may go on elsewhere, alone in the store.
            if (!guarded && !_store.Presence.IsTurnedAway && IsUsual(slot, input.Session))
            {
                i = ExecuteStretch(ref context, i, count, ref input);
                continue;
            }

            _executing = slot;
            _stretch = ++i;       // ExecuteSlow counts it
            ExecuteSlow(ref context, slot, ref input);
            AfterCommands();
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool IsUsual(WindowSlot* slot, Session session) =>
        !(slot->Kind.Command < 0 | session.Gate != 0 | slot->Kind.Slow);

    /// <summary>Runs commands of one session for as long as nothing about them is unusual.</summary>
    /// <returns>The place of the first command that is unusual, or is another session's.</returns>
    private int ExecuteStretch(ref CommandContext context, int from, int count, ref WindowInput input)
    {
        var session = context.Session;
        WindowSlot* slot = _slots + from, end = _slots + count;
        short index = slot->Kind.Input;
        _stretch = from;
        do
        {
            slot = ExecuteRun(ref context, slot, end, ref input);
            AfterCommands();
        }
        while (slot < end && slot->Kind.Input == index && IsUsual(slot, session) && !input.Stopped);

        CountStretch((int)(slot - _slots));
        return (int)(slot - _slots);
    }

    /// <summary>Runs commands of a stretch for as long as they have one name.</summary>
    /// <returns>The first command that has another name, or is to be looked at more closely.</returns>
    private WindowSlot* ExecuteRun(ref CommandContext context, WindowSlot* slot, WindowSlot* end, ref WindowInput input)
    {
        var session = context.Session;
        var runner = _runner;
        var buffer = _output.Buffer;
        Argument* items = _table.Items;
        long kind = *(long*)&slot->Kind;
        var command = _commands[slot->Kind.Command];
        var handler = command.Handler!;
        ref var counts = ref _counters.ByCommand[command.Id];
        int least = command.ArgumentsMin, most = command.ArgumentsMax;
        const CommandFlags needing = CommandFlags.DenyOom | CommandFlags.WaitsForRoom;
        bool bounded = (command.Flags & needing) != 0 && _server.Store.MaxMemoryBytes != 0;
        bool isFed = command.MayChange && _feed.IsOn;
        context.Command = command;
        context.Args.Begin(null, 0, 0, 0, 0, null);
        runner.Events.Begin(command.Event);
        var first = slot;
        var store = _store;
        bool comesAgain = command.MayComeAgain;
        long begin = counts.Begin();
        // A command that may be slow is timed alone, so that its session's share can end right after it.
        if (begin != 0 && (counts.WasSlow || (command.Flags & CommandFlags.Fast) == 0)) end = slot + 1;
        if (command.Timing <= runner.Detail | runner.Detail == TimingDetail.Long)
            end = TimedEnd(command, slot, end, ref begin);
        // Last: what is cut off here was not checked in vain.
        if (session.Restriction is { } rules)
        {
            end = AllowedEnd(ref context, rules, slot, end);
            if (end == slot)
            {
                counts.GiveUp();
                return RunChecked(ref context, slot, ref input);
            }
        }

        do
        {
            _executing = slot;
            input.Position = slot->End;
            context.Args.Begin(items + slot->First, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint);
            // Asked before each command, though a window has only 32: 32 SETRANGEs can be 16 GB.
            if (slot->Count < least | slot->Count > most || (bounded && _server.Store.IsOverBudget)
                || (isFed && _feed.IsFull))
            {
                store.MayComeAgain = false;
                // May refuse it, or let it wait for room.
                _dispatcher.Run(ref context, items + slot->First, FirstByteOf(input));
                return slot + 1;        // the context may now have another row: a subcommand's
            }

            runner.Begin(session);
            // Each anew: what the one before has changed is not its own.
            store.MayComeAgain = comesAgain;
            runner.Call(ref context, handler, ref counts);
            slot++;
        }
        while (slot < end && *(long*)&slot->Kind == kind && session.Gate == 0 && buffer.Length <= FlushBytes);

        store.MayComeAgain = false;
        if (begin != 0) EndTimed(ref context, ref counts, begin, (int)(slot - first));
        return slot;
    }

    /// <summary>Where a run ends whose commands the slow log may have to know one by one.</summary>
    /// <param name="begin">When the run begins, if it is timed; set where it has to be.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private WindowSlot* TimedEnd(Command command, WindowSlot* slot, WindowSlot* end, ref long begin)
    {
        if (command.Timing <= _runner.Detail || slot->Count > QuickArgumentsMax)
        {
            if (begin == 0) begin = Stopwatch.GetTimestamp();
            return slot + 1;
        }

        var next = slot + 1;
        while (next < end && next->Count <= QuickArgumentsMax) next++;
        return next;
    }

    /// <summary>Has the dispatcher look at a call that cannot simply be made.</summary>
    private WindowSlot* RunChecked(ref CommandContext context, WindowSlot* slot, ref WindowInput input)
    {
        Argument* items = _table.Items + slot->First;
        _executing = slot;
        input.Position = slot->End;
        context.Args.Begin(items, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint);
        _dispatcher.Run(ref context, items, FirstByteOf(input));
        return slot + 1;
    }

    /// <summary>Where a run ends because the client's user may not make the next call; the dispatcher then refuses
    /// it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private WindowSlot* AllowedEnd(ref CommandContext context, UserRules rules, WindowSlot* slot, WindowSlot* end)
    {
        long kind = *(long*)&slot->Kind;
        var command = context.Command;
        var decider = rules.DeciderByKeys(command);
        if (decider != null && (decider.HasAllKeys || command.Keys.Length == 0)) return end;
        Argument* items = _table.Items;
        int key = decider == null ? 0 : command.SoleKey;
        var needed = command.SoleKeyNeeds;
        var prefix = default(KeyPrefix);
        bool hasPrefix = key != 0 && decider!.TryPrefix(needed, out prefix);
        for (; slot < end && *(long*)&slot->Kind == kind; slot++)
        {
            // A call with too few arguments ends the run by itself.
            if (slot->Count < command.ArgumentsMin | slot->Count > command.ArgumentsMax) break;
            if (key != 0 && key < slot->Count && slot->Count <= command.SoleKeyArgumentsMax)
            {
                var name = items[slot->First + key].Span;
                if (hasPrefix && prefix.Begins(name)) continue;
                if (!decider!.AllowsKey(name, needed)) break;
                continue;
            }

            context.Args.Begin(items + slot->First, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint);
            if (!rules.Check(command, context.Args).IsAllowed) break;
        }

        return slot;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void EndTimed(ref CommandContext context, ref CommandCounts counts, long begin, int calls)
    {
        long ticks = counts.End(begin, calls, context.Command, _counters.TracksLatency, context.Session.Steps != null);
        if (counts.IsSlow) CountShare(begin, begin + ticks);
        // Of several nobody knows which was slow: after a slow run each is timed alone.
        if (calls == 1) _runner.NoteTime(ref context, ticks);
    }

    /// <summary>Reads the clock for the session that runs.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void LookAtShare()
    {
        long now = Stopwatch.GetTimestamp();
        CountShare(now, now);
    }

    /// <summary>Ends the current session's share once it has had its time.</summary>
    /// <param name="begin">When it began at the latest: used if the clock has not been read for it before.</param>
    private void CountShare(long begin, long now)
    {
        if (_shareBegin == 0) _shareBegin = begin;
        if (now - _shareBegin >= ShareTicks) EndShare();
    }

    private void EndShare()
    {
        if (_current == None) return;
        ref var input = ref _inputs[_current];
        bool hasMore = input.Position != input.Length;
        // Steps that a command has left are for the next turn, too.
        if (!hasMore && input.Session.Steps == null) return;
        input.Stopped = true;
        input.HasMore = hasMore;
    }

    /// <summary>Counts the commands of the stretch that were run.</summary>
    /// <param name="end">The place after the last of them.</param>
    private void CountStretch(int end)
    {
        Debug.Assert(end > 0 && end >= _stretch, "a stretch has an end");
        Debug.Assert(end <= WindowParser.CommandsMax, "it is a part of the window");
        _executed += end - _stretch;
        // A step of a command was counted when that began, and is none itself.
        _last = Math.Max(_slots[end - 1].Kind.Command, (short)None);
    }

    private void ExecuteSlow(ref CommandContext context, WindowSlot* slot, ref WindowInput input)
    {
        var session = input.Session;
        if (slot->Kind.Command == WindowSlotKind.Resume)
        {
            _last = None;       // it was counted when it began
            if (!_dispatcher.Resume(ref context)) input.Stopped = true;
            ReleaseBlocks(session);
            return;
        }

        if ((session.Gate & SessionGate.Stopped) != 0)
        {
            input.Stopped = true;
            return;
        }

        input.Position = slot->End;
        if (slot->Kind.Command == WindowSlotKind.ProtocolError)
        {
            // The first byte of a large command that has arrived in part is no longer here.
            byte first = session.Partial.IsLarge ? RespType.Array : input.Start[input.Parsed];
            _dispatcher.FailProtocol(ref context, input.Error, first);
            input.Stopped = true;
            return;
        }

        _executed++;
        _last = None;
        Argument* items = _table.Items + slot->First;
        context.Args.Begin(items, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint, session.Blocks, _table.Large);
        if (slot->Kind.Command == WindowSlotKind.Unknown)
        {
            _dispatcher.FailUnknown(ref context, FirstByteOf(input));
        }
        else
        {
            context.Command = _commands[slot->Kind.Command];
            _dispatcher.Run(ref context, items, FirstByteOf(input));
        }

        ReleaseBlocks(session);
    }

    /// <summary>The first byte that the client has sent, if nothing of it was run before this turn.</summary>
    private byte* FirstByteOf(in WindowInput input)
    {
        if (input.Session.CommandsProcessed != 0) return null;
        _dispatcher.FirstLength = input.Length;
        return input.Start;
    }

    private void ReleaseBlocks(Session session)
    {
        if (session.Blocks == null || session.Held != null || session.Steps != null) return;
        session.Blocks.Release(_store);
        session.Blocks = null;
    }

    private void BeginSession(int index)
    {
        Debug.Assert(index > _current && index < _inputCount, "sessions run one after another, each once");
        EndSession();
        _current = index;
        _shareBegin = 0;
        ref var input = ref _inputs[index];
        input.OutputStart = _output.Buffer.Length;
        _output.Reply.Version = input.Session.Version;
        if (input.Session.RightsVersion != _server.Users.Version) input.Session.FollowUser();
        _store.LeavesNoTrace = input.Session.NoTouch;
        if (_tracking.ClientCount != 0) _writer.Begin(input.Session);
    }

    private void EndSession()
    {
        if (_current == None) return;
        if (_writer.Author != null) _writer.End();
        ref var input = ref _inputs[_current];
        input.OutputEnd = _output.Buffer.Length;
        input.Session.CommandsProcessed += _executed;
        _counters.Commands += _executed;
        if (_executed > 0 && _last != None) input.Session.LastCommand = _commands[_last];
        _executed = 0;
    }

    /// <summary>Hands long output to the owner, frees much memory that was let go of, and ends the turn of a session
    /// that has had its share.</summary>
    private void AfterCommands()
    {
        if (_output.Buffer.Length > FlushBytes || _output.ReferencedBytes > ShareBytes) FlushMuch();
        if (_store.Freeing.IsDue) _store.Freeing.BetweenCommands();
        if (_runner.SlowSince == 0) return;
        CountShare(_runner.SlowSince, Stopwatch.GetTimestamp());
        _runner.SlowSince = 0;
    }

    // What is sent takes time, too, the more if nobody reads it: the clock is asked each time.
    private void FlushMuch()
    {
        long begin = Stopwatch.GetTimestamp();
        if (Flush() >= ShareBytes) EndShare();
        else CountShare(begin, Stopwatch.GetTimestamp());
    }

    /// <summary>Hands all replies so far to the owner.</summary>
    /// <returns>Bytes of replies to the current session in this turn.</returns>
    private long Flush()
    {
        if (_current == None) return 0;
        _writer.Flush();        // who has a reply to a write knows that others have been told
        _inputs[_current].Sent += _output.ReferencedBytes;      // other sessions' included, which are at most a share
        _inputs[_current].OutputEnd = _output.Buffer.Length;
        for (int i = 0; i <= _current; i++)
        {
            ref var input = ref _inputs[i];
            Debug.Assert(input.OutputEnd >= input.OutputStart, "a session's replies stand together");
            input.Sent += input.OutputEnd - input.OutputStart;
            if (input.OutputEnd > input.OutputStart)
                _owner.Send(i, input.Session, _output, input.OutputStart, input.OutputEnd);
            input.OutputStart = input.OutputEnd = 0;
        }

        Debug.Assert(_output.ReferenceCount == 0, "a block was not handed over");
        _output.Buffer.Clear();
        return _inputs[_current].Sent;
    }
}
