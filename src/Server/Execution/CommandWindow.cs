using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

//  A group of sessions (at most 16) and their input, and a window of at most 32 commands that moves over it:
//
//   session 0   GET a | GET b | SET c 1 | ... 1,800 more
//   session 1   GET d | GET e
//   session 2   GE                                            (in part: stays)
//
//   Parse     the next commands in this order: find the row, hash the first key, prefetch its bucket
//   Probe     look into the buckets, prefetch the records found; their addresses are the hints; for a command on a member of
//             a large collection go on: the collection's head, the member's bucket, the member; or the byte of a bit or
// register
//   Execute   in the same order; replies go behind one another into the output
//
//  A session's commands stand together, so its replies do, too. A window ends early behind a command that changes how
//  the next ones are to be read or looked up.

/// <summary>Runs the commands that a group of sessions has sent, so many at a time that memory is fetched ahead of its
/// use.</summary>
/// <remarks>
/// Threads: one worker, or whoever holds the lease. The hints live within one turn of the <see cref="StoreSession"/>.
/// Result: each session's commands run strictly in order; looking ahead changes nothing but the time.
/// </remarks>
internal sealed unsafe class CommandWindow : ISessionUser, IDisposable
{
    public const int SessionsMax = 16;
    private const int CommandsMax = 32;

    /// <summary>Replies of more bytes than this leave in the middle of a turn.</summary>
    public const int FlushBytes = 256 * 1024;

    /// <summary>A session that has been answered so much in a turn goes on in the next one.</summary>
    private const int ShareBytes = 1024 * 1024;

    /// <summary>The clock is read once in so many windows, so it costs a command less than 0.2 ns. What is slow reads
    /// it by itself.</summary>
    private const int WindowsPerClock = 8;

    /// <summary>And so does one that has had a millisecond: others of the worker wait no longer for it.</summary>
    private static readonly long ShareTicks = Stopwatch.Frequency / 1000;

    // Numbers of things that are not commands.
    private const int Unknown = -1;
    private const int Resume = -2;
    private const int ProtocolError = -3;

    private readonly KvServer _server;
    private readonly Command[] _commands;
    private readonly CommandTable _names;
    private readonly StoreSession _store;
    private readonly SessionOutput _output;
    private readonly CommandRunner _runner;
    private readonly Dispatcher _dispatcher;
    private readonly WorkerCounters _counters;
    private readonly IWindowOwner _owner;
    private readonly ArgumentTable _table = new();
    private readonly WindowInput[] _inputs = new WindowInput[SessionsMax];
    private readonly WindowSlot* _slots;
    private readonly Lock _slotsGuard = new();
    private bool _isDisposed;

    private CommandHead _head;
    private short _headCommand;
    private byte _headKey, _headMember;
    private MemberKind _headMemberIs;
    private int _inputCount;
    private int _parsing;
    private int _current;
    private int _stretch;
    private WindowSlot* _executing;
    private int _executed;
    private int _last;
    private int _windows;
    private long _shareBegin;

    public CommandWindow(KvServer server, StoreSession store, WorkerCounters counters, IWindowOwner owner)
    {
        _server = server;
        _names = server.Commands;
        _commands = server.Commands.All;
        _store = store;
        _counters = counters;
        _owner = owner;
        _output = new SessionOutput(server.Store);
        _runner = new CommandRunner(server, store, counters, _output);
        _dispatcher = new Dispatcher(server, store, _runner, _output);
        _slots = (WindowSlot*)NativeMemory.AlignedAlloc((nuint)(CommandsMax * sizeof(WindowSlot)), 64);
        new Span<WindowSlot>(_slots, CommandsMax).Clear();
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
                // Races with the turn, on purpose: each word is read whole, and the worst is the name of the command
                // before.
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

    /// <summary>Drops the replies of a turn that failed, and the values they refer to: they are no other
    /// session's.</summary>
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
        Debug.Assert(_inputCount < SessionsMax, "the group is full");
        _inputs[_inputCount++] = new WindowInput { Session = session, Start = input, Length = length };
    }

    /// <summary>How many bytes of a session's input have been used up.</summary>
    public int Consumed(int index) => _inputs[index].Position;

    /// <summary>Whether a session has used its share of the turn up, but not its input.</summary>
    public bool HasMore(int index) => _inputs[index].HasMore;

    /// <summary>The same of a group of one, also after <see cref="Begin"/>.</summary>
    public int LastConsumed => _inputs[0].Position;

    /// <inheritdoc cref="LastConsumed"/>
    public bool LastHasMore => _inputs[0].HasMore;

    /// <summary>Runs the complete commands of the group, of each session as many as fit into its share of a turn, and
    /// hands the replies to the owner. What is left of an input begins with a command.</summary>
    public void Run()
    {
        _parsing = 0;
        _current = -1;
        _windows = 0;
        Fault.Point("worker.turn");
        while (_parsing < _inputCount)
        {
            int count = Parse();
            Probe(count);
            Execute(count);
            if (++_windows % WindowsPerClock == 0) LookAtShare();
        }

        Flush();
        EndSession();
        for (int i = 0; i < _inputCount; i++)
        {
            ref var input = ref _inputs[i];
            int behind = input.Parsed - input.Taken;
            if (!input.Stopped) input.Position = behind;        // empty lines are no commands, and are behind it, too
            // Parsed ahead but not run: the state speaks of a command further back than the one that is first now.
            if (input.Position != behind) input.Session.Partial.Reset();
            else input.Position = input.Parsed;
            input.HasMore |= input.Session.Partial.IsInterrupted;
        }
    }

    public void Dispose()
    {
        Begin();
        _table.Dispose();
        _runner.Dispose();
        _output.Dispose();
        lock (_slotsGuard)
        {
            _isDisposed = true;
            NativeMemory.AlignedFree(_slots);
        }
    }

    /// <summary>Fills the window.</summary>
    /// <returns>How many commands are in it; 0 when the group had none left.</returns>
    private int Parse()
    {
        _table.Clear();
        int count = 0;
        // A session may end just where the window is full: the next one begins in the next window.
        for (; _parsing < _inputCount && count < CommandsMax; _parsing++)
        {
            ref var input = ref _inputs[_parsing];
            var session = input.Session;
            if (input.Stopped) continue;
            if (session.Steps != null || session.Held != null)
            {
                SlotAt(count) = new WindowSlot { Kind =
                    new WindowSlotKind { Command = Resume, Input = (short)_parsing }, End = input.Parsed };
                return count + 1;
            }

            int end = ParseSession(ref input, session, count);
            if (end < 0) return ~end;
            count = end;
        }

        return count;
    }

    /// <summary>Adds the commands of one session.</summary>
    /// <returns>The window's count when the session has no more; its complement when the window is to be run
    /// first.</returns>
    private int ParseSession(ref WindowInput input, Session session, int count)
    {
        byte* start = input.Start;
        int length = input.Length;
        int position = input.Parsed;
        int database = session.Database;
        bool authenticated = session.Authenticated;
        bool isLarge = session.Partial.IsLarge, slow = session.Blocks != null || isLarge;
        if (isLarge && count > 0) return ~count;        // it fills the table, so what comes before it is run first
        var table = _table;
        // A command whose start is here from an earlier turn, or that has stricter limits, is not for the short way.
        // (Without input there may be no buffer at all.)
        if (authenticated & !slow & position < length && !session.Partial.IsPartial)
            count = ParseRun(start, length, ref position, database, count);
        while (position < length)
        {
            if (count == CommandsMax)
            {
                input.Parsed = position;
                return ~count;
            }

            int from = position;
            var status = CommandParser.Parse(start, length, ref position, table, _server.Limits, authenticated,
                ref session.Partial, out int first, out int arguments);
            if (status != ParseStatus.Complete)
            {
                input.Parsed = position;
                input.Taken = position - from;
                if (status == ParseStatus.NeedMoreData
                    && (input.Taken > 0 || start[position] != Dispatcher.TlsHandshake)) return count;
                input.Error = status;
                SlotAt(count) = new WindowSlot { Kind =
                    new WindowSlotKind { Command = ProtocolError, Input = (short)_parsing }, End = length };
                return ~(count + 1);
            }

            if (arguments == 0) continue;

            Argument* items = table.Items + first;
            ref readonly var entry = ref _names.Find(items->Pointer, items->Length);
            AddSlot(count++, entry, first, arguments, position, database, slow);
            if (entry.EndsWindow || entry.IsNone || slow)
            {
                input.Parsed = position;
                return ~count;
            }

            if (!authenticated || !_head.TryRemember(start + from, items, arguments)) continue;
            _headCommand = (short)entry.Number;
            _headKey = entry.FirstKey;
            _headMember = entry.Member;
            _headMemberIs = entry.MemberIs;
            count = ParseRun(start, length, ref position, database, count);
        }

        input.Parsed = position;
        return count;
    }

    /// <summary>Adds commands for as long as they begin as the last one did.</summary>
    private int ParseRun(byte* start, int length, ref int position, int database, int count)
    {
        var head = _head;
        int arguments = head.Arguments;
        if (arguments == 0) return count;
        byte* at = start + position, end = start + length;
        var table = _table;
        var store = _store;
        var limits = _server.Limits;
        Argument* items = table.Reserve((CommandsMax - count) * arguments);
        int first = table.Count;
        // What is the same for all of them is looked up once.
        byte key = _headKey < arguments ? _headKey : (byte)0;
        var index = key == 0 ? null : store.LookAheadIndex(database);
        var kind = new WindowSlotKind { Command = _headCommand, Input = (short)_parsing, Key = key,
            Member = _headMember < arguments ? _headMember : (byte)0, MemberIs = _headMemberIs };
        WindowSlot* slot = _slots + count, full = _slots + CommandsMax;
        // Ends: with the window full, or at a command that differs or is not whole. Behind the end lie bytes of before:
        // they may match, but no command that begins there ends before it.
        for (; slot < full && head.Matches(at); slot++)
        {
            byte* next = head.ReadRest(at, end, items, limits);
            if (next == null) break;
            at = next;
            slot->Kind = kind;
            slot->First = first;
            slot->Count = arguments;
            slot->End = (int)(at - start);
            slot->Database = database;
            slot->Hint = 0;
            if (key != 0)
            {
                ulong hash = store.HashKey(items[key].Pointer, items[key].Length);
                index?.Prefetch(hash);
                slot->Hash = hash;
            }

            items += arguments;
            first += arguments;
        }

        table.Commit(first - table.Count);
        position = (int)(at - start);
        return (int)(slot - _slots);
    }

    private void AddSlot(int at, in CommandEntry entry, int first, int arguments, int end, int database, bool slow)
    {
        byte key = entry.FirstKey < arguments ? entry.FirstKey : (byte)0,
            member = entry.Member < arguments ? entry.Member : (byte)0;
        ref var slot = ref SlotAt(at);
        slot = new WindowSlot
        {
            Kind = new WindowSlotKind { Command = (short)entry.Number, Input = (short)_parsing, Key = key,
                Member = member, MemberIs = entry.MemberIs, Slow = slow },
            First = first, Count = arguments, End = end, Database = database,
        };
        if (key == 0) return;
        Argument* argument = _table.Items + first + key;
        slot.Hash = _store.HashKey(argument->Pointer, argument->Length);
        _store.LookAheadIndex(database)?.Prefetch(slot.Hash);
    }

    /// <summary>A place of the window, checked: past its end is memory of others. (<see cref="ParseRun"/> checks its
    /// own.)</summary>
    private ref WindowSlot SlotAt(int place) => ref new Span<WindowSlot>(_slots, CommandsMax)[place];

    private void Probe(int count)
    {
        HashIndex? index = null;
        int database = -1;
        bool chained = false;
        int members = 0;
        WindowSlot* end = _slots + count;
        for (var slot = _slots; slot < end; slot++)
        {
            members |= slot->Kind.Member;
            if (slot->Kind.Key == 0) continue;
            if (slot->Database != database)
            {
                database = slot->Database;
                index = _store.LookAheadIndex(database);
            }

            if (index == null) continue;
            ulong hint = index.Probe(slot->Hash);
            slot->Hint = hint;
            chained |= hint == HashIndex.InChain;
        }

        if (chained) ProbeChains(end);
        if (members != 0) MemberProbe.Run(_slots, end, _table.Items, _store);
    }

    /// <summary>A few keys in a hundred are not in their first bucket: those are looked for once more, when the second
    /// has arrived.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ProbeChains(WindowSlot* end)
    {
        for (var slot = _slots; slot < end; slot++)
        {
            if (slot->Hint == HashIndex.InChain)
                slot->Hint = _store.LookAheadIndex(slot->Database)!.ProbeChain(slot->Hash);
        }
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
                _dispatcher.FailCommand(input.Session, exception);
                ReleaseBlocks(input.Session);
                LookAtShare();
                from = failed + 1;
            }
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
            // Also from the middle of a turn on: by a script of it that goes on elsewhere, alone in the store.
            if (!guarded && !_store.Presence.IsTurnedAway && IsUsual(slot, input.Session))
            {
                i = ExecuteStretch(ref context, i, count, ref input);
                continue;
            }

            _executing = slot;
            _stretch = ++i;       // it counts itself
            ExecuteSlow(ref context, slot, ref input);
            AfterCommands();
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool IsUsual(WindowSlot* slot, Session session) =>
        !(slot->Kind.Command < 0 | session.Gate != 0 | slot->Kind.Slow);

    /// <summary>Runs commands of one session for as long as nothing about them is unusual.</summary>
    /// <returns>The first that is, or is another session's.</returns>
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
    /// <returns>The first that has not, or is to be looked at closer.</returns>
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
        context.Command = command;
        context.Args.Begin(null, 0, 0, 0, 0, null);
        var first = slot;
        long begin = counts.Begin();
        // What may be slow ends its session's share as soon as it has taken that long.
        if (begin != 0 && (counts.WasSlow || (command.Flags & CommandFlags.Fast) == 0)) end = slot + 1;
        do
        {
            _executing = slot;
            input.Position = slot->End;
            context.Args.Begin(items + slot->First, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint);
            // Before each of them, though they are 32 at most: 32 SETRANGEs can be 16 GB.
            if (slot->Count < least | slot->Count > most || (bounded && _server.Store.IsOverBudget))
            {
                _dispatcher.Run(ref context, items + slot->First);      // which may have to wait for room
                return slot + 1;        // of a subcommand, perhaps: the context has its row
            }

            runner.Begin(session);
            runner.Call(ref context, handler, ref counts);
            slot++;
        }
        while (slot < end && *(long*)&slot->Kind == kind && session.Gate == 0 && buffer.Length <= FlushBytes);

        if (begin != 0 && counts.End(begin, (int)(slot - first), command) is var slowUntil and not 0)
            CountShare(begin, slowUntil);
        return slot;
    }

    /// <summary>Reads the clock for the session that runs.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void LookAtShare()
    {
        long now = Stopwatch.GetTimestamp();
        CountShare(now, now);
    }

    /// <summary>Ends the turn of the session that runs once it has had its time.</summary>
    /// <param name="begin">When it began at the latest: counts where the clock was not read for it before.</param>
    private void CountShare(long begin, long now)
    {
        if (_shareBegin == 0) _shareBegin = begin;
        if (now - _shareBegin >= ShareTicks) EndShare();
    }

    private void EndShare()
    {
        if (_current < 0) return;
        ref var input = ref _inputs[_current];
        bool hasMore = input.Position != input.Length;
        // What a command has left to steps is for the next turn, too.
        if (!hasMore && input.Session.Steps == null) return;
        input.Stopped = true;
        input.HasMore = hasMore;
    }

    /// <summary>Counts the commands that were run, up to one that was not.</summary>
    private void CountStretch(int end)
    {
        _executed += end - _stretch;
        _last = _slots[end - 1].Kind.Command;
    }

    private void ExecuteSlow(ref CommandContext context, WindowSlot* slot, ref WindowInput input)
    {
        var session = input.Session;
        if (slot->Kind.Command == Resume)
        {
            _last = -1;         // it was counted when it began
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
        if (slot->Kind.Command == ProtocolError)
        {
            // The first byte is long gone of what has arrived in part before.
            byte first = session.Partial.IsLarge ? RespType.Array : input.Start[input.Parsed];
            _dispatcher.FailProtocol(ref context, input.Error, first);
            input.Stopped = true;
            return;
        }

        _executed++;
        _last = -1;
        Argument* items = _table.Items + slot->First;
        context.Args.Begin(items, slot->Count, slot->Kind.Key, slot->Hash, slot->Hint, session.Blocks, _table.Large);
        if (slot->Kind.Command == Unknown)
        {
            _dispatcher.FailUnknown(ref context);
        }
        else
        {
            context.Command = _commands[slot->Kind.Command];
            _dispatcher.Run(ref context, items);
        }

        ReleaseBlocks(session);
    }

    private void ReleaseBlocks(Session session)
    {
        if (session.Blocks == null || session.Held != null || session.Steps != null) return;
        session.Blocks.Release(_store);
        session.Blocks = null;
    }

    private void BeginSession(int index)
    {
        EndSession();
        _current = index;
        _shareBegin = 0;
        ref var input = ref _inputs[index];
        input.OutputStart = _output.Buffer.Length;
        _output.Reply.Version = input.Session.Version;
    }

    private void EndSession()
    {
        if (_current < 0) return;
        ref var input = ref _inputs[_current];
        input.OutputEnd = _output.Buffer.Length;
        input.Session.CommandsProcessed += _executed;
        _counters.Commands += _executed;
        if (_executed > 0 && _last >= 0) input.Session.LastCommand = _commands[_last];
        _executed = 0;
    }

    /// <summary>Hands much output over, has what was let go of freed, and ends the turn of a session that has had its
    /// share.</summary>
    private void AfterCommands()
    {
        bool isMuch = _output.Buffer.Length > FlushBytes || _output.ReferencedBytes > ShareBytes;
        if (isMuch && Flush() >= ShareBytes) EndShare();
        if (_store.HasLetGoOfMuch) _store.FreeBetweenCommands();
        if (_runner.SlowSince == 0) return;
        CountShare(_runner.SlowSince, Stopwatch.GetTimestamp());
        _runner.SlowSince = 0;
    }

    /// <summary>Hands all replies so far to the owner.</summary>
    /// <returns>Bytes that the session which runs was answered in this turn.</returns>
    private long Flush()
    {
        if (_current < 0) return 0;
        _inputs[_current].Sent += _output.ReferencedBytes;      // of others, too: that is at most a share
        _inputs[_current].OutputEnd = _output.Buffer.Length;
        for (int i = 0; i <= _current; i++)
        {
            ref var input = ref _inputs[i];
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
