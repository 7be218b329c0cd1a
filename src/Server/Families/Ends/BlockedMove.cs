using Kv.Server.Blocking;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>BLMOVE or BRPOPLPUSH that waits.</summary>
/// <remarks>A destination of another type ends the wait with an error; the element stays for the next client that
/// waits.</remarks>
internal sealed class BlockedMove : BlockedCommand
{
    private readonly byte[] _destination;
    private readonly bool _fromLeft, _toLeft;

    public BlockedMove(Session session, ReadOnlySpan<byte> destination, bool fromLeft, bool toLeft)
        : base(session)
    {
        // Pinned: a list of keys to hold refers to it by address.
        _destination = GC.AllocateUninitializedArray<byte>(destination.Length, pinned: true);
        destination.CopyTo(_destination);
        _fromLeft = fromLeft;
        _toLeft = toLeft;
    }

    protected internal override long Bytes => _destination.Length;

    protected internal override bool TryServe(ref Serving serving)
    {
        if (!IsList(serving)) return false;
        var keys = serving.Store.Keys;
        keys.Clear();
        keys.Add(serving.KeyBytes, serving.Database);
        keys.Add(_destination, serving.Database);
        using var held = serving.Store.Hold(keys);
        if (held.Status != StoreStatus.Ok)
        {
            if (!serving.TryClaim()) return false;
            serving.Reply.WriteError(Errors.For(held.Status));
            return true;
        }

        var from = held.Value(0);
        if (!from.Exists || from.Type != DataType.List || !serving.TryClaim()) return false;
        bool isMoved = ListEnds.Move(serving.Reply, from, held.Value(1),
            serving.KeyBytes.AsSpan().SequenceEqual(_destination), _fromLeft, _toLeft);
        if (!isMoved) return true;
        if (serving.IsFed)
            ListEnds.SayMove(serving.Say(5), serving.KeyBytes, _destination, _fromLeft, _toLeft);
        serving.Notify(ListEnds.PushAt(_toLeft), _destination);
        serving.Notify(ListEnds.PopAt(_fromLeft), serving.KeyBytes);
        return true;
    }

    // Looks without holding the keys, which would make placeholders for absent ones.
    private static bool IsList(in Serving serving)
    {
        var read = default(ReadNothing);
        return serving.Store.Read(serving.Key, DataType.List, ref read) == StoreStatus.Ok;
    }

    private struct ReadNothing : IValueRead
    {
        public static bool IsUse => false;      // a look, which nobody asked for

        public readonly void Read(in ValueView value)
        {
        }
    }
}
