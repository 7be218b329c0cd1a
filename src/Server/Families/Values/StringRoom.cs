using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>
/// A large string that a command is about to change, but that has no room for it or is shared with a copy or with
/// readers: it gets a block of its own, with room, a piece at a time. Then its command is run, which changes it in
/// place.
/// </summary>
/// <remarks>
/// Nobody can tell the new block from the old one, so the command happens at the instant at which it is run at last;
/// what others do with the key before comes before. If it has to move once more by then, it does so in one turn.
/// Threads: the session's; where another one needs the key, it copies the rest (<see cref="HeldUse"/>).
/// </remarks>
internal sealed unsafe class StringRoom : HeldSteps
{
    private const int CopyBytesPerStep = 512 * 1024;

    private readonly Store _store;
    private readonly HeldCommand _command;
    private readonly long _length;
    private Block _block;
    private long _copied;

    private StringRoom(ref CommandContext context, long length)
    {
        _store = context.Server.Store;
        _command = context.Args.Keep(_store);
        _length = length;
    }

    /// <summary>Leaves a command to later turns.</summary>
    /// <param name="key">Of the string.</param>
    /// <param name="length">What it is to have room for.</param>
    /// <returns>False: it is to be done now, in one turn.</returns>
    public static bool TryBegin(ref CommandContext context, scoped in Key key, long length)
    {
        using var held = context.Store.Hold(key, DataType.String);
        if (held.Status != StoreStatus.Ok || held.Value.View.Block.IsNone) return false;
        if (context.TryPostpone()) return true;
        var room = new StringRoom(ref context, length);
        if (room.TryBegin(ref context, held, ReplyHead.None, count: 0)) return true;
        room.Dispose();
        return false;
    }

    public override void Dispose()
    {
        base.Dispose();
        _command.Dispose();
        if (!_block.IsNone) _store.Release(_block);
        _block = default;
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        HeldValue value = held.Value(0);
        Block source = value.View.Block;
        if (_block.IsNone)
        {
            _block = Block.Allocate(source.Length, ValueWriter.GrownCapacity(Math.Max(_length, source.Length)),
                _store.Budget);
            if (_block.IsNone) Status = StoreStatus.OutOfMemory;
            return _block.IsNone;
        }

        long count = Math.Min(CopyBytesPerStep, source.Length - _copied);
        Buffer.MemoryCopy(source.Content + _copied, _block.Content + _copied, count, count);
        _copied += count;
        if (_copied < source.Length) return false;
        Status = value.TryReplace(ValueKind.String, _block.Span, value.View.ExpiryMs, _block);
        return true;
    }

    protected override bool Finish(ref CommandContext context)
    {
        if (Status != StoreStatus.Ok || Failure != null) return Answer(ref context);
        // The reference that is left with the key is then the only one: it may be written to.
        _store.Release(_block);
        _block = default;
        context.Args.Begin(_command.Items, _command.Count, keyIndex: 0, hash: 0, hint: 0, context.Session.Blocks);
        context.MovesAtOnce = true;
        try
        {
            context.Command.Handler!(ref context);
        }
        finally
        {
            context.MovesAtOnce = false;
        }

        return true;
    }
}
