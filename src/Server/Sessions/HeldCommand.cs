using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Sessions;

//  one allocation:   | Argument 0 | Argument 1 | ... | bytes of all arguments, but for those in blocks | 8 bytes |

/// <summary>A command that arrived but may not run yet, or not to its end, so that the receive buffer is free for
/// others.</summary>
/// <remarks>
/// A copy; of a large one, which has its memory to itself, a reference.
/// Threads: the session's own. Arguments in blocks stay in the session's <see cref="ReceivedBlocks"/>.
/// </remarks>
internal sealed unsafe class HeldCommand : IDisposable
{
    /// <summary>A name is read as words.</summary>
    private const int NamePadding = 8;

    private readonly Store _store;
    private Argument* _items;
    private bool _isCharged = true;

    /// <param name="store">Is charged with the memory, as long as it is held.</param>
    /// <param name="large">Holds the arguments, if it is one.</param>
    public HeldCommand(Argument* items, int count, Store store, LargeCommand? large = null)
    {
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
            Copy(items);
        }

        _store = store;
        store.Charge(Bytes);
    }

    public Argument* Items => _items;

    public int Count { get; }

    /// <summary>What holds the arguments of a large command.</summary>
    public LargeCommand? Large { get; private set; }

    /// <summary>Memory held.</summary>
    public long Bytes { get; private set; }

    /// <summary>Before it is asked whether there is room for the command: what it held while it waited is not held
    /// against it.</summary>
    public void EndCharge()
    {
        if (_isCharged) _store.Charge(-Bytes);
        _isCharged = false;
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
    }
}
