using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Sessions;

//  one allocation:   | Argument 0 | Argument 1 | ... | bytes of all arguments, but for those in blocks | 8 bytes |

/// <summary>A command that has arrived and may not run yet, or not to its end. It leaves the receive buffer free for
/// others.</summary>
/// <remarks>
/// A copy of the arguments; of a large command, whose memory is its own, a reference.
/// Threads: the session's own. Arguments in blocks stay in the session's <see cref="ReceivedBlocks"/>.
/// </remarks>
internal sealed unsafe class HeldCommand : IDisposable
{
    /// <summary>A command's name is read 8 bytes at a time, and may be shorter.</summary>
    private const int NamePadding = 8;

    private readonly Store _store;
    private Argument* _items;
    private bool _isCharged = true;

    /// <param name="store">Charged with the memory until <see cref="EndCharge"/>.</param>
    /// <param name="large">The holder of the arguments, if the command is a large one.</param>
    /// <exception cref="OutOfMemoryException">The system refuses; nothing is held.</exception>
    public HeldCommand(Argument* items, int count, Store store, LargeCommand? large = null)
    {
        Debug.Assert(count > 0, "a command has a name");
        Count = count;
        if (large != null)
        {
            Debug.Assert(large.Items == items, "a large command has its table to itself");
            large.AddReference();
            Large = large;
            _items = items;
            Bytes = large.Bytes;
        }
        else
        {
            if (store.Budget.RefusesAllocation()) throw new OutOfMemoryException();
            Copy(items);
        }

        _store = store;
        store.Charge(Bytes);
    }

    public Argument* Items => _items;

    public int Count { get; }

    /// <summary>The holder of the arguments of a large command.</summary>
    public LargeCommand? Large { get; private set; }

    /// <summary>Memory held.</summary>
    public long Bytes { get; private set; }

    /// <summary>The arguments for who looks at their bytes, and asks the store for none of them.</summary>
    public CommandArguments Look() => new(_items, Count, null!, keyIndex: 0, hash: 0, hint: 0, blocks: null);

    /// <summary>Takes the memory off the store's account. Called before the store is asked for room for the command:
    /// its own copy is not to count against it.</summary>
    public void EndCharge()
    {
        if (_isCharged) _store.Charge(-Bytes);
        _isCharged = false;
    }

    /// <summary>Puts the memory on the store's account once more: the command goes on waiting.</summary>
    public void BeginCharge()
    {
        Debug.Assert(!_isCharged, "it is charged once");
        _store.Charge(Bytes);
        _isCharged = true;
    }

    public void Dispose()
    {
        EndCharge();
        if (Large == null) NativeMemory.Free(_items);
        Large?.Release();
        Large = null;
        _items = null;
    }

    private void Copy(Argument* items)
    {
        nuint bytes = NamePadding;
        for (int i = 0; i < Count; i++)
            if (!items[i].IsInBlock) bytes += (nuint)items[i].Length;
        Bytes = (long)bytes + (Count * (long)Argument.SizeBytes);
        _items = (Argument*)NativeMemory.Alloc((nuint)Bytes);
        byte* text = (byte*)(_items + Count);
        for (int i = 0; i < Count; i++)
        {
            _items[i] = items[i];
            if (items[i].IsInBlock) continue;
            _items[i].Pointer = text;
            items[i].Span.CopyTo(new Span<byte>(text, items[i].Length));
            text += items[i].Length;
        }

        Debug.Assert(text + NamePadding == (byte*)_items + Bytes, "the copy is as long as what was counted");
    }
}
