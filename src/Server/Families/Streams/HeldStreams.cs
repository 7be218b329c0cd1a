using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>The keys of XREAD or XREADGROUP, held: one, the common case, or several as of one instant.</summary>
internal readonly ref struct HeldStreams : IHeldKeys
{
    private readonly HeldKey _one;
    private readonly HeldKeys _many;
    private readonly bool _isOne;

    /// <summary>Holds arguments of a command. Absent keys are there, without a value.</summary>
    public HeldStreams(ref CommandContext context, int first, int count)
    {
        _isOne = count == 1;
        if (_isOne) _one = context.Store.Hold(context.Store.Key(context.Args[first].Span), DataType.Any);
        else _many = context.Store.Hold(context.ListKeys(first, count));
    }

    /// <summary>Holds one key, for a command that has waited for it.</summary>
    public HeldStreams(StoreSession store, Key key)
    {
        _isOne = true;
        _one = store.Hold(key, DataType.Any);
    }

    /// <summary>Those that are held already; whoever holds them lets go.</summary>
    public HeldStreams(in HeldKeys held) => _many = held;

    /// <summary>Ok; OutOfMemory: none is held.</summary>
    public StoreStatus Status =>
        !_isOne ? _many.Status : _one.Status == StoreStatus.NotFound ? StoreStatus.Ok : _one.Status;

    public HeldValue this[int index] => _isOne ? _one.Value : _many.Value(index);

    public bool Exists(int index) => _isOne ? _one.Status == StoreStatus.Ok : _many.Exists(index);

    /// <inheritdoc/>
    public IHeldSteps? TryBeginUse(IHeldUse use) => _isOne ? _one.TryBeginUse(use) : _many.TryBeginUse(use);

    public void Dispose()
    {
        if (_isOne) _one.Dispose();
        else _many.Dispose();
    }
}
