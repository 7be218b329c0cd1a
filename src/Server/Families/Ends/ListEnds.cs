using System.Buffers;
using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Effects;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Takes elements from the ends of lists that are held, and writes them.</summary>
internal static class ListEnds
{
    /// <summary>Takes the element at an end, and writes it.</summary>
    public static void TakeOne(ReplyWriter reply, HeldValue value, bool left)
    {
        var list = new ListValue(value);
        Debug.Assert(list.Count > 0, "a list that exists has an element");
        WriteOne(reply, list.View, left);
        list.RemoveEnd(left);
    }

    /// <summary>Moves an element between the lists that the first two arguments name, and writes it, or an
    /// error.</summary>
    /// <param name="leavesToOthers">Whether to leave the element to clients that wait for it already.</param>
    /// <returns>False when there is no element to move: nothing was written.</returns>
    public static bool TryMove(ref CommandContext context, bool fromLeft, bool toLeft, bool leavesToOthers = false)
    {
        using var held = context.Store.Hold(context.ListKeys(1, 2));
        if (held.Status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(held.Status));
            return true;
        }

        HeldValue from = held.Value(0);
        var source = context.Args[1].Span;
        var databases = context.Server.Store.Databases;
        if (!from.Exists) return false;
        if (from.Type != DataType.List) context.Fail(Errors.WrongType);
        else if (leavesToOthers && databases.IsAwaited(context.Session.Database, context.Store.Key(source)))
            return false;
        else if (Move(context.Reply, from, held.Value(1), source.SequenceEqual(context.Args[2].Span), fromLeft, toLeft))
        {
            if (context.IsFed) SayMove(context.Say(5), source, context.Args[2].Span, fromLeft, toLeft);
            context.Notify(PushAt(toLeft), 2);
            context.Notify(PopAt(fromLeft), 1);
        }

        return true;
    }

    /// <summary>Moves an element from an end of a list to an end of a list, and writes it, or an error.</summary>
    /// <param name="from">A list.</param>
    /// <param name="to">A value of any type, or none; may be the value that <paramref name="from"/> is.</param>
    /// <param name="isSame">Whether both are one key.</param>
    /// <returns>False after writing an error.</returns>
    public static bool Move(ReplyWriter reply, HeldValue from, HeldValue to, bool isSame, bool fromLeft, bool toLeft)
    {
        Debug.Assert(from.Exists && from.Type == DataType.List, "the caller has looked at the source");
        if (to.Exists && to.Type != DataType.List)
        {
            reply.WriteError(Errors.WrongType);
            return false;
        }

        if (!isSame) return MoveOver(reply, from, to, fromLeft, toLeft);
        if (fromLeft != toLeft) return Rotate(reply, from, fromLeft);
        // Taken and put back.
        WriteOne(reply, new ListValue(from).View, fromLeft);
        from.BeginChange();
        return true;
    }

    /// <summary>Says that an element has moved, as a command that does not wait.</summary>
    public static void SayMove(EffectBytes effect, ReadOnlySpan<byte> source, ReadOnlySpan<byte> destination,
        bool fromLeft, bool toLeft)
    {
        effect.Add("LMOVE"u8);
        effect.Add(source);
        effect.Add(destination);
        effect.Add(fromLeft ? "LEFT"u8 : "RIGHT"u8);
        effect.Add(toLeft ? "LEFT"u8 : "RIGHT"u8);
        effect.End();
    }

    /// <summary>The event of an element that is put at an end.</summary>
    public static KeyEvent PushAt(bool left) => left ? KeyEvent.LPush : KeyEvent.RPush;

    /// <summary>The event of an element that is taken from an end.</summary>
    public static KeyEvent PopAt(bool left) => left ? KeyEvent.LPop : KeyEvent.RPop;

    private static bool MoveOver(ReplyWriter reply, HeldValue from, HeldValue to, bool fromLeft, bool toLeft)
    {
        Debug.Assert(new ListValue(from).Count > 0, "a list that exists has an element");
        new ListValue(from).View.TryGet(fromLeft ? 0 : -1, out var element);
        var list = new ListValue(to);
        if (!list.TryReservePush(toLeft, new ListPush(element.Length)))
        {
            reply.WriteError(Errors.OutOfMemory);
            return false;
        }

        reply.WriteBulk(element);
        list.Push(toLeft, element);
        new ListValue(from).RemoveEnd(fromLeft);
        return true;
    }

    /// <summary>Moves an element from one end of a list to the other.</summary>
    private static bool Rotate(ReplyWriter reply, HeldValue value, bool fromLeft)
    {
        var list = new ListValue(value);
        Debug.Assert(list.Count > 0, "a list that exists has an element");
        list.View.TryGet(fromLeft ? 0 : -1, out var element);
        int length = element.Length;
        // A copy, since the list may move to make room.
        byte[]? rented = length > 1024 ? ArrayPool<byte>.Shared.Rent(length) : null;
        Span<byte> copy = rented ?? stackalloc byte[1024];
        copy = copy[..length];
        element.CopyTo(copy);
        bool isDone = list.TryReservePush(!fromLeft, new ListPush(length));
        if (!isDone)
        {
            reply.WriteError(Errors.OutOfMemory);
        }
        else
        {
            reply.WriteBulk(copy);
            list.Push(!fromLeft, copy);
            list.RemoveEnd(fromLeft);
        }

        if (rented != null) ArrayPool<byte>.Shared.Return(rented);
        return isDone;
    }

    private static void WriteOne(ReplyWriter reply, ListView list, bool left)
    {
        list.TryGet(left ? 0 : -1, out var element);
        reply.WriteBulk(element);
    }
}
