using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>
/// Moves a large string that a command is about to change, but that has no room for the change or is shared with a copy
/// or with readers, to a new block with room, a piece at a time. Then the command runs, and changes the string in
/// place.
/// </summary>
/// <remarks>
/// The new block has the content of the old one, so the command happens at the instant at which it runs; what others do
/// with the key until then happens before. If the string has to move once more by then, it does so in one turn.
/// Threads: the session's; another thread that needs the key copies the rest (<see cref="HeldUse"/>).
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
    /// <param name="key">The string's key.</param>
    /// <param name="length">The length that it needs room for.</param>
    /// <returns>False when the command is to be done now, in one turn.</returns>
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

        Debug.Assert(_copied <= source.Length && _block.Capacity >= source.Length, "the copy has room for all of it");
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
        Debug.Assert(!_block.IsNone && _copied > 0, "the string was moved");
        // The key's reference is then the only one, so the block may be written to.
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
