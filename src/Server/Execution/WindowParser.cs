using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Parses the commands of a <see cref="CommandWindow"/>: finds the row of each, hashes its first key and asks
/// for that key's bucket.</summary>
/// <remarks>
/// Threads: the window's. What it writes are the slots, the table of arguments, and how far each input has been parsed.
/// A window ends early after a command that changes how the next ones are to be read or looked up.
/// </remarks>
internal sealed unsafe class WindowParser
{
    /// <summary>So many commands fill a window.</summary>
    public const int CommandsMax = 32;

    private readonly KvServer _server;
    private readonly CommandTable _names;
    private readonly StoreSession _store;
    private readonly WindowInput[] _inputs;
    private readonly ArgumentTable _table;
    private readonly WindowSlot* _slots;
    private int _inputCount, _parsing;

    // How the last command began, and what was found of it: the next ones may begin likewise.
    private CommandHead _head;
    private short _headCommand;
    private byte _headKey, _headMember;
    private MemberKind _headMemberIs;

    /// <param name="slots">The window, of <see cref="CommandsMax"/>; its owner frees it.</param>
    /// <param name="names">By which names commands are found.</param>
    public WindowParser(KvServer server, CommandTable names, StoreSession store, WindowInput[] inputs,
        ArgumentTable table, WindowSlot* slots)
    {
        _server = server;
        _names = names;
        _store = store;
        _inputs = inputs;
        _table = table;
        _slots = slots;
    }

    /// <summary>Whether there may be more commands in the group's input.</summary>
    public bool HasMore => _parsing < _inputCount;

    /// <summary>Begins with the inputs of a group.</summary>
    public void Begin(int inputCount)
    {
        Debug.Assert(inputCount <= _inputs.Length, "they are in the window");
        (_inputCount, _parsing) = (inputCount, 0);
    }

    /// <summary>Fills the window with the next commands.</summary>
    /// <returns>How many commands are in it; 0 when the group had none left.</returns>
    public int Fill()
    {
        _table.Clear();
        int count = 0;
        // A session's commands may just fill the window: the next session begins in the next window.
        for (; _parsing < _inputCount && count < CommandsMax; _parsing++)
        {
            ref var input = ref _inputs[_parsing];
            var session = input.Session;
            if (input.Stopped) continue;
            if (session.Steps != null || session.Held != null)
            {
                SlotAt(count) = NewSlot(WindowSlotKind.Resume, input.Parsed);
                return count + 1;
            }

            int end = ParseSession(ref input, session, count);
            if (end < 0) return ~end;
            count = end;
        }

        return count;
    }

    /// <summary>Adds the commands of one session.</summary>
    /// <returns>The window's count when the session has no more commands; its complement when the window is to be run
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
        // The short way is not for a command that has begun in an earlier turn, or that has stricter limits. (Without
        // input there may be no buffer at all.)
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
                SlotAt(count) = NewSlot(WindowSlotKind.ProtocolError, length);
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
        // What all commands of the run have in common is looked up once.
        byte key = _headKey < arguments ? _headKey : (byte)0;
        var index = key == 0 ? null : store.LookAheadIndex(database);
        var kind = new WindowSlotKind { Command = _headCommand, Input = (short)_parsing, Key = key,
            Member = _headMember < arguments ? _headMember : (byte)0, MemberIs = _headMemberIs };
        WindowSlot* slot = _slots + count, full = _slots + CommandsMax;
        // Ends: with the window full, or at a command that differs or is not whole. Bytes after the end of the input
        // may match, but no command that begins there ends within the input.
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

    /// <summary>What stands in a slot without being a command.</summary>
    private WindowSlot NewSlot(short what, int end) =>
        new() { Kind = new WindowSlotKind { Command = what, Input = (short)_parsing }, End = end };

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

    /// <summary>A slot of the window; checked, since it is native memory. (<see cref="ParseRun"/> checks
    /// itself.)</summary>
    private ref WindowSlot SlotAt(int place) => ref new Span<WindowSlot>(_slots, CommandsMax)[place];
}
