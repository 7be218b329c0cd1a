using static Kv.Tests.Models.ModelRegisters;

namespace Kv.Tests.Models;

/// <summary>The calls of a program: which one a thread is at, and the keys and records that go with it.</summary>
/// <remarks>Records are numbered from 1: those there at first, then those that the calls make, one for each of their
/// keys.</remarks>
internal sealed class ModelCalls
{
    private readonly ModelProgram _program;
    private readonly List<char> _keyOf = ['\0'];
    private readonly int[] _firstCall, _firstRecord;
    private readonly Call[] _calls;

    public ModelCalls(ModelProgram program)
    {
        _program = program;
        _calls = [.. program.Threads.SelectMany(calls => calls)];
        _firstCall = new int[program.Threads.Length];
        for (int i = 1; i < _firstCall.Length; i++) _firstCall[i] = _firstCall[i - 1] + program.Threads[i - 1].Length;
        _keyOf.AddRange(program.Keys);
        _firstRecord = new int[_calls.Length];
        for (int i = 0; i < _calls.Length; i++)
        {
            _firstRecord[i] = _keyOf.Count;
            _keyOf.Add(_calls[i].Key);
            if (_calls[i].Other != '\0') _keyOf.Add(_calls[i].Other);
        }
    }

    /// <summary>All calls, thread behind thread.</summary>
    public IReadOnlyList<Call> All => _calls;

    /// <summary>A state with every thread before its first call, and nothing in the index.</summary>
    public ModelState NewState()
    {
        var state = new ModelState(_program.Entries, _keyOf.Count, _program.Threads.Length, _calls.Length);
        for (int thread = 0; thread < _firstCall.Length; thread++)
            state.Thread(thread)[CallAt] = (byte)_firstCall[thread];
        return state;
    }

    public bool IsFirst(Span<byte> t, int thread) => t[CallAt] == _firstCall[thread];

    /// <summary>Whether a thread has ended all of its calls.</summary>
    public bool IsDone(Span<byte> t, int thread) => t[CallAt] == _firstCall[thread] + _program.Threads[thread].Length;

    /// <summary>Begins a call: notes which ones had ended by then.</summary>
    public void Start(ModelState s, Span<byte> t)
    {
        Span<byte> call = s.Call(t[CallAt]);
        for (int i = 0; i < _calls.Length; i++)
            if (s.Call(i)[0] != 0) call[1] |= (byte)(1 << i);
    }

    /// <summary>Ends a call with its results; the thread goes on to its next one.</summary>
    public static void Finish(ModelState s, Span<byte> t, byte first, byte second)
    {
        Span<byte> call = s.Call(t[CallAt]);
        (call[0], call[2], call[3]) = (1, first, second);
        t[CallAt]++;
        Clear(t);
    }

    /// <summary>Forgets all but the call and what the look-ahead found.</summary>
    public static void Clear(Span<byte> t)
    {
        byte call = t[CallAt], hint = t[HintAt];
        t.Clear();
        (t[CallAt], t[HintAt]) = (call, hint);
    }

    public Op OpOf(Span<byte> t) => _calls[t[CallAt]].Op;

    /// <summary>The key that a thread is at.</summary>
    public char KeyOf(Span<byte> t)
    {
        if (t[SearchingAt] != 0) return (char)t[SearchingAt];
        Call call = _calls[t[CallAt]];
        return t[KeyAt] == 0 ? call.Key : call.Other;
    }

    /// <summary>The key of a record.</summary>
    public char KeyOf(byte record) => _keyOf[record];

    /// <summary>The record that a call's first key had at first.</summary>
    public byte FirstRecord(Span<byte> t) => (byte)(1 + _program.Keys.IndexOf(_calls[t[CallAt]].Key));

    /// <summary>The record that a call makes for the key it is at.</summary>
    public byte Mine(Span<byte> t) => (byte)(_firstRecord[t[CallAt]] + t[KeyAt]);

    /// <summary>The value that a call writes.</summary>
    public static byte Written(Span<byte> t) => (byte)(t[CallAt] + 1);

    /// <summary>The key that a thread looks up ahead of its first call; none: '\0'.</summary>
    public char HintedKey(int thread)
    {
        foreach (Call call in _program.Threads[thread])
            if (call.Op is Op.HintedGet or Op.HintedSet) return call.Key;
        return '\0';
    }
}
