using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Runs work on what is held: here, and nowhere else, it is decided whether in one turn or in steps.</summary>
/// <remarks>A method of its own for each work, with all of the work in it: inlined into the handler as well there would
/// be more variables than the compiler keeps in registers, and every loop would be slower.</remarks>
internal static class HeldWork
{
    /// <summary>Does it and answers; in later turns, if it is much and they may be waited for.</summary>
    /// <param name="held">Held with a value.</param>
    /// <param name="work">Made for this call, which uses it up in place: a copy of it costs as much as many a small
    /// piece of work.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run<TWork>(ref CommandContext context, in HeldKey held, in TWork work)
        where TWork : struct, IValueWork
    {
        ref TWork once = ref Unsafe.AsRef(in work);
        Debug.Assert(held.Value.Exists, "held with a value");
        if (once.IsLong(held.Value) && context.MayStep && ValueSteps<TWork>.TryBegin(ref context, held, once)) return;
        RunWhole(context.Reply, held.Value, ref once);
    }

    /// <summary>Does work that cannot say beforehand how much it is: it begins in this turn, and what that has no room
    /// for is left to later ones.</summary>
    public static void RunOpen<TWork>(ref CommandContext context, in HeldKey held, TWork work)
        where TWork : struct, IOpenWork
    {
        Debug.Assert(held.Value.Exists, "held with a value");
        var target = new DirectTarget(context.Reply);
        var head = Begin(context.Reply, work, out var begin, out bool isAhead);
        bool isDone = false;
        // What has changed something cannot be begun anew.
        if (context.MayStep && !(TWork.Changes && context.IsBegunAnew))
        {
            var turn = new TurnBudget();
            isDone = work.Run(held.Value, target, ref turn);
            if (!isDone && ValueSteps<TWork>.TryBegin(ref context, held, work, begin)) return;
        }

        var budget = default(Unbounded);
        // Ends: each piece gets on.
        while (!isDone) isDone = work.Run(held.Value, target, ref budget);
        End(context.Reply, head, begin, isAhead, work);
    }

    /// <summary>The same on one of several keys that are held, whose name is the first part of the reply.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run<TWork>(ref CommandContext context, in HeldKeys held, int index, ReadOnlySpan<byte> key,
        TWork work)
        where TWork : struct, IValueWork
    {
        if (context.MayStep && work.IsLong(held.Value(index))
            && ValueSteps<TWork>.TryBegin(ref context, held, index, key, work)) return;
        RunWhole(context.Reply, key, held.Value(index), work);
    }

    /// <summary>The same on the only key.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run<TWork>(ref CommandContext context, in HeldKey held, ReadOnlySpan<byte> key, TWork work)
        where TWork : struct, IValueWork
    {
        if (context.MayStep && work.IsLong(held.Value)
            && ValueSteps<TWork>.TryBegin(ref context, held, key, work)) return;
        RunWhole(context.Reply, key, held.Value, work);
    }

    /// <summary>Does all of it now, and answers; the key's name is the first part of the reply.</summary>
    public static void RunWhole<TWork>(ReplyWriter reply, ReadOnlySpan<byte> key, HeldValue value, TWork work)
        where TWork : struct, IValueWork
    {
        reply.WriteArray(2);
        reply.WriteBulk(key);
        RunWhole(reply, value, ref work);
    }

    /// <summary>Does work on several keys, and answers; in later turns, if it is much and they may be waited
    /// for.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run<TWork>(ref CommandContext context, in HeldKeys held, TWork work)
        where TWork : struct, IKeysWork
    {
        if (context.MayStep && work.IsLong(held) && KeysSteps<TWork>.TryBegin(ref context, held, work)) return;
        try
        {
            var head = Begin(context.Reply, work, out var begin, out bool isAhead);
            var budget = default(Unbounded);
            // Ends: each piece gets on.
            while (!work.Run(held, new DirectTarget(context.Reply), ref budget))
            {
            }

            End(context.Reply, head, begin, isAhead, work);
        }
        finally
        {
            work.Dispose();
        }
    }

    /// <summary>Why nothing came of work that is done.</summary>
    // Asked only of what has one: the body that the interface gives to others would be called on a box.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static StoreStatus StatusOf<TWork>(in TWork work) where TWork : struct, IHeldWork =>
        TWork.MayFail ? work.Status : StoreStatus.Ok;

    // One copy for each work: what is small is not to notice that it could be large.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void RunWhole<TWork>(ReplyWriter reply, HeldValue value, ref TWork work)
        where TWork : struct, IValueWork
    {
        var head = Begin(reply, work, out var begin, out bool isAhead);
        var budget = default(Unbounded);
        // Ends: each piece gets on.
        while (!work.Run(value, new DirectTarget(reply), ref budget))
        {
        }

        End(reply, head, begin, isAhead, work);
    }

    /// <summary>Writes what comes before the elements, where it is known.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ReplyHead Begin<TWork>(ReplyWriter reply, in TWork work, out ReplyMark begin, out bool isAhead)
        where TWork : struct, IHeldWork
    {
        begin = reply.Mark();
        ReplyHead head = work.Head;
        long count = head is ReplyHead.Number or ReplyHead.Ok ? -1 : work.Count;
        isAhead = count >= 0;
        if (isAhead) head.Write(reply, count);
        return head;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void End<TWork>(ReplyWriter reply, ReplyHead head, ReplyMark begin, bool isAhead, in TWork work)
        where TWork : struct, IHeldWork
    {
        var status = StatusOf(work);
        if (status != StoreStatus.Ok)
        {
            reply.Rewind(begin);
            reply.WriteError(Errors.For(status));
        }
        else if (!isAhead)
        {
            head.WriteAhead(reply, begin, work.Count);
        }

        Debug.Assert(reply.Owed == begin.Owed - 1, "work has one reply, with as many elements as it has announced");
    }
}
