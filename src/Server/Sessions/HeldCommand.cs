using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Sessions;

//  one allocation:   | Argument 0 | Argument 1 | ... | 8 zeros' room | bytes of all arguments, but for those in blocks |

/// <summary>A copy of a command that arrived but may not run yet, so that the receive buffer is free for
/// others.</summary>
/// <remarks>Threads: the session's own. Arguments in blocks stay in the session's
/// <see cref="ReceivedBlocks"/>.</remarks>
internal sealed unsafe class HeldCommand : IDisposable
{
    private const int NamePadding = 8;

    private readonly Store _store;
    private Argument* _items;
    private bool _isCharged = true;

    /// <param name="store">Is charged with the memory, as long as it is held.</param>
    public HeldCommand(Argument* items, int count, Store store)
    {
        nuint bytes = NamePadding;
        for (int i = 0; i < count; i++)
            if (!items[i].IsInBlock) bytes += (nuint)items[i].Length;
        Bytes = (long)bytes + (count * (long)Argument.SizeBytes);
        _items = (Argument*)NativeMemory.Alloc((nuint)Bytes);
        Count = count;
        byte* text = (byte*)(_items + count);
        for (int i = 0; i < count; i++)
        {
            _items[i] = items[i];
            if (items[i].IsInBlock) continue;
            _items[i].Pointer = text;
            items[i].Span.CopyTo(new Span<byte>(text, items[i].Length));
            text += items[i].Length;
        }

        _store = store;
        store.Charge(Bytes);
    }

    public Argument* Items => _items;

    public int Count { get; }

    /// <summary>Memory held.</summary>
    public long Bytes { get; }

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
        NativeMemory.Free(_items);
        _items = null;
    }
}
