using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>The keys of XREAD or XREADGROUP, held: one, the common case, or several as of one instant.</summary>
internal readonly ref struct HeldStreams
{
    private readonly HeldKey _one;
    private readonly HeldKeys _many;
    private readonly bool _isOne;

    /// <summary>Holds them. Absent keys are there, without a value.</summary>
    public HeldStreams(ref CommandContext context, int first, int count)
    {
        _isOne = count == 1;
        if (_isOne)
        {
            var argument = context.Args[first].Span;
            _one = context.Store.Hold(context.Store.Key(argument), DataType.Any);
            return;
        }

        var keys = context.Store.Keys;
        keys.Clear();
        for (int i = first; i < first + count; i++) context.Args.AddKey(i, keys, context.Session.Database);
        _many = context.Store.Hold(keys);
    }

    /// <summary>Ok; OutOfMemory: none is held.</summary>
    public StoreStatus Status => !_isOne ? _many.Status : _one.Status == StoreStatus.NotFound ? StoreStatus.Ok : _one.Status;

    public HeldValue this[int index] => _isOne ? _one.Value : _many.Value(index);

    public bool Exists(int index) => _isOne ? _one.Status == StoreStatus.Ok : _many.Exists(index);

    public void Dispose()
    {
        if (_isOne) _one.Dispose();
        else _many.Dispose();
    }
}
