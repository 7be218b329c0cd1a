using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>A command with very many arguments about one collection: what it is to add, to take out, or to look for.</summary>
/// <remarks>The arguments are copied, those in blocks stay in the session's. What can fail has been done by the handler.</remarks>
internal abstract unsafe class LongArguments : LongElements
{
    private readonly Store _store;
    private readonly HeldCommand _command;
    private readonly int _stride;
    private readonly ArgumentUse _use;
    private int _at;
    private bool _isDisposed;

    /// <param name="first">The first argument of these.</param>
    /// <param name="stride">So many belong together.</param>
    protected LongArguments(ref CommandContext context, int first, int stride, ArgumentUse use)
    {
        _store = context.Server.Store;
        _command = context.Args.Copy();
        _at = first;
        _stride = stride;
        _use = use;
        _store.Charge(_command.Bytes);
    }

    /// <inheritdoc/>
    public override bool HasChanged => _use != ArgumentUse.Find;

    /// <summary>Whether there are so many arguments.</summary>
    public static bool AreMany(ref CommandContext context) => IsWanted(ref context, context.Args.Count);

    /// <summary>Begins.</summary>
    /// <returns>False: do it all in this turn.</returns>
    protected bool TryBegin(ref CommandContext context, scoped HeldKey held)
    {
        bool finds = _use == ArgumentUse.Find;
        if (TryBegin(ref context, held, finds ? ReplyHead.Array : ReplyHead.Number, finds ? _command.Count - _at : 0)) return true;
        Dispose();
        return false;
    }

    public override void Dispose()
    {
        base.Dispose();
        if (_isDisposed) return;
        _isDisposed = true;
        _store.Charge(-_command.Bytes);
        _command.Dispose();
    }

    protected sealed override bool Work(in HeldKeys held, LongReply reply)
    {
        long end = reply.Bytes + BytesPerStep;
        HeldValue value = held.Value(0);
        for (int left = ElementsPerStep; left > 0 && _at < _command.Count && reply.Bytes < end; left--, _at += _stride)
            Do(value, _use, _command.Items[_at].Span, _stride == 1 ? default : _command.Items[_at + 1].Span, reply);
        if (HasChanged) Settle(value);
        return _at == _command.Count;
    }

    /// <summary>Does what there is to do with one of them, or two.</summary>
    protected abstract void Do(HeldValue value, ArgumentUse use, ReadOnlySpan<byte> first, ReadOnlySpan<byte> second, LongReply reply);

    /// <summary>Behind some changes.</summary>
    protected abstract void Settle(HeldValue value);
}
