using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>BITOP of long strings: 1 MB of the sources a step, or a part of each of very many.</summary>
internal sealed unsafe class BitCombinationSteps : ICommandSteps, IDisposable
{
    private const int BytesPerStep = 1024 * 1024, PartBytesMin = 4096, AttemptsMax = 3;

    private readonly StoreSession _session;
    private readonly BitOperation _operation;
    private readonly byte[][] _keys;
    private readonly int _database;
    private Sources _sources;
    private Block _result;
    private long _at;
    private int _attempts;

    public BitCombinationSteps(StoreSession session, BitOperation operation, KeyList keys, int database)
    {
        _session = session;
        _operation = operation;
        _database = database;
        // The arguments are gone in later steps; pinned, as a list of keys needs them to stay put.
        _keys = new byte[keys.Count][];
        for (int i = 0; i < _keys.Length; i++)
        {
            _keys[i] = GC.AllocateUninitializedArray<byte>(keys[i].Length, pinned: true);
            keys[i].Bytes.CopyTo(_keys[i]);
        }

        _sources = new Sources(session, _keys.Length);
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (_result.IsNone && !TryBegin(ref context)) return true;
        long end = Math.Min(_result.Length, _at + Math.Max(PartBytesMin, 2 * BytesPerStep / _keys.Length));
        Debug.Assert(_at >= 0 && _at < end && end <= _result.Length, "each step gets on");
        var part = new Span<byte>(_result.Content + _at, (int)(end - _at));
        CombineBits.Begin(_operation, part, _sources[1].Bytes, _at);
        for (int i = 2; i < _keys.Length; i++) CombineBits.Add(_operation, part, _sources[i].Bytes, _at);
        _session.ChargeBlock(_result, end);
        _at = end;
        return _at == _result.Length && TryFinish(ref context);
    }

    public void Dispose()
    {
        _sources.Restart();
        if (!_result.IsNone) _session.Release(_result);
        _result = default;
    }

    /// <summary>Reads the sources as of one instant. False: the reply is written.</summary>
    private bool TryBegin(ref CommandContext context)
    {
        KeyList keys = FillKeys(ref context);
        context.Store.ReadMany(keys, ref _sources);
        long longest = 0;
        for (int i = 1; i < _keys.Length; i++) longest = Math.Max(longest, _sources[i].Bytes.Length);
        if (!_sources.HasOtherType && longest > 0) _result = _session.AllocateBlock(longest);
        if (!_result.IsNone)
        {
            _at = 0;
            return true;
        }

        // Other types, nothing left of the strings, or no memory: the short way knows the answer.
        bool isRefused = longest > 0 && !_sources.HasOtherType;
        Dispose();
        if (isRefused) context.Fail(Errors.OutOfMemory);
        else FinishHeld(ref context);
        return false;
    }

    private bool TryFinish(ref CommandContext context)
    {
        Debug.Assert(_attempts < AttemptsMax, "the last attempt holds the keys");
        KeyList keys = FillKeys(ref context);
        using HeldKeys held = context.Store.Hold(keys);
        if (held.Status == StoreStatus.Ok)
        {
            bool same = true;
            for (int i = 1; i < _keys.Length && same; i++) same = _sources[i].IsSame(held.View(i));
            if (!same && ++_attempts < AttemptsMax)
            {
                Dispose();
                return false;
            }

            if (same) Set(ref context, held);
            else Combine(ref context, held);
        }
        else
        {
            context.Fail(Errors.For(held.Status));
        }

        Dispose();
        return true;
    }

    private void Set(ref CommandContext context, in HeldKeys held)
    {
        Debug.Assert(_at == _result.Length, "all of the result is there");
        var status = held.Set(0, _result.Span, _result);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(_result.Length);
        else context.Fail(Errors.For(status));
    }

    private void FinishHeld(ref CommandContext context)
    {
        using HeldKeys held = context.Store.Hold(FillKeys(ref context));
        if (held.Status == StoreStatus.Ok) Combine(ref context, held);
        else context.Fail(Errors.For(held.Status));
    }

    private void Combine(ref CommandContext context, in HeldKeys held)
    {
        long longest = 0;
        for (int i = 1; i < _keys.Length; i++)
        {
            ValueView source = held.View(i);
            if (source.Exists && source.Type != DataType.String)
            {
                context.Fail(Errors.WrongType);
                return;
            }

            if (source.Exists) longest = Math.Max(longest, source.StringLength);
        }

        BitCombination.Finish(ref context, _operation, held, _keys.Length, longest);
    }

    private KeyList FillKeys(ref CommandContext context)
    {
        KeyList keys = context.Store.Keys;
        keys.Clear();
        foreach (byte[] key in _keys)
            fixed (byte* start = key) keys.Add(start, key.Length, _database);
        return keys;
    }

    /// <summary>All sources as of one instant; the destination, key 0, is not looked at.</summary>
    private struct Sources : IManyRead
    {
        private readonly StringSnapshot[] _snapshots;

        public Sources(StoreSession session, int count)
        {
            _snapshots = new StringSnapshot[count];
            for (int i = 0; i < count; i++) _snapshots[i] = new StringSnapshot(session);
        }

        public readonly ref StringSnapshot this[int index] => ref _snapshots[index];

        public bool HasOtherType { get; private set; }

        public void Restart()
        {
            for (int i = 0; i < _snapshots.Length; i++) _snapshots[i].Forget();
            HasOtherType = false;
        }

        public void Read(int index, in ValueView value)
        {
            Debug.Assert((uint)index < (uint)_snapshots.Length, "there is a place for each key");
            if (index == 0 || !value.Exists) return;
            if (value.Type == DataType.String) _snapshots[index].Read(value);
            else HasOtherType = true;
        }
    }
}
