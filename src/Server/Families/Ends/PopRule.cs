using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Effects;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What LMPOP, ZMPOP and their blocking kin take from the first of several keys that has elements, and how
/// they write it.</summary>
internal readonly struct PopRule
{
    /// <summary>As many as a client may wait for; to hold them takes some milliseconds.</summary>
    private const int KeysMax = BlockedClients.KeysMax;

    /// <summary>A list or a sorted set.</summary>
    public DataType Type { get; init; }

    /// <summary>Whether to take from the left; of a sorted set, the lowest scores.</summary>
    public bool FromFirst { get; init; }

    /// <summary>How many to take at most; 0: one, which is written without an array of its own.</summary>
    public long Count { get; init; }

    /// <summary>What subscribers are told of the key.</summary>
    public KeyEvent Event => Type == DataType.List ? ListEnds.PopAt(FromFirst)
        : FromFirst ? KeyEvent.ZPopMin : KeyEvent.ZPopMax;

    /// <summary>Reads "numkeys key [key ...] end [COUNT count]".</summary>
    public static PopRule ReadMany(ref CommandArguments args, DataType type, out KeyRange keys)
    {
        int count = (int)Math.Min(int.MaxValue,
            args.NextInt64(1, long.MaxValue, "ERR numkeys should be greater than 0"u8));
        keys = new KeyRange(args.Position, count, 1);
        args.Skip(count);
        bool fromFirst = type == DataType.List
            ? NextEnd(ref args, "LEFT"u8, "RIGHT"u8) : NextEnd(ref args, "MIN"u8, "MAX"u8);
        long most = 1;
        bool hasCount = false;
        while (args.Remaining > 0)
        {
            if (!hasCount && args.TryKeyword("COUNT"u8))
            {
                most = args.NextInt64(1, long.MaxValue, "ERR count should be greater than 0"u8);
                hasCount = true;
            }
            else
            {
                args.SyntaxError();
            }
        }

        Debug.Assert(args.Failed || (keys.First + keys.Count <= args.Count && most > 0),
            "the keys are arguments, and something is taken");
        return new PopRule { Type = type, FromFirst = fromFirst, Count = most };
    }

    /// <summary>Reads one of two words, such as LEFT or RIGHT.</summary>
    /// <returns>Whether it is the first of the two.</returns>
    public static bool NextEnd(ref CommandArguments args, ReadOnlySpan<byte> first, ReadOnlySpan<byte> last)
    {
        bool isFirst = args.TryKeyword(first);
        if (!isFirst && !args.TryKeyword(last)) args.SyntaxError();
        return isFirst;
    }

    /// <summary>Takes from the first of the keys that has any, and answers it, or that it is of another type.</summary>
    /// <param name="leavesToOthers">Whether to leave elements to clients that wait for them already.</param>
    /// <returns>False when there is nothing to take: nothing was written.</returns>
    public bool TryTake(ref CommandContext context, KeyRange keys, bool leavesToOthers = false)
    {
        context.Arm(Event);
        if (keys.Count == 1) return TryTakeOne(ref context, keys.First, leavesToOthers);
        context.Args.RequireAtMost(keys.Count, KeysMax, "keys to take from");
        if (!context.Args.Finish(context.Reply)) return true;
        using var held = context.Store.Hold(context.ListKeys(keys.First, keys.Count));
        if (held.Status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(held.Status));
            return true;
        }

        for (int i = 0; i < keys.Count; i++)
        {
            var value = held.Value(i);
            if (!value.Exists) continue;
            var key = context.Args[keys.First + i].Span;
            if (value.Type != Type) context.Fail(Errors.WrongType);
            else if (leavesToOthers && IsAwaited(ref context, key)) return false;
            else Take(ref context, held, i, key);
            return true;
        }

        return false;
    }

    private bool TryTakeOne(ref CommandContext context, int index, bool leavesToOthers)
    {
        Debug.Assert(index > 0 && index < context.Args.Count, "the key is an argument");
        var key = context.Args[index].Span;
        using var held = context.Store.Hold(context.Store.Key(key), Type);
        if (held.Status == StoreStatus.NotFound) return false;
        if (held.Status != StoreStatus.Ok) context.Fail(Errors.For(held.Status));
        else if (leavesToOthers && IsAwaited(ref context, key)) return false;
        else Take(ref context, held, key);
        return true;
    }

    private void Take(ref CommandContext context, in HeldKey held, ReadOnlySpan<byte> key)
    {
        if (context.IsFed) Say(context.Say(WordsSaid), key);
        if (Count == 0) TakeOne(context.Reply, key, held.Value);
        else if (Type == DataType.List) HeldWork.Run(ref context, held, key, ListWork(held.Value));
        else HeldWork.Run(ref context, held, key, SortedSetWork(context.Reply, held.Value));
    }

    private void Take(ref CommandContext context, in HeldKeys held, int index, ReadOnlySpan<byte> key)
    {
        if (context.IsFed) Say(context.Say(WordsSaid), key);
        var value = held.Value(index);
        if (Count == 0) TakeOne(context.Reply, key, value);
        else if (Type == DataType.List) HeldWork.Run(ref context, held, index, key, ListWork(value));
        else HeldWork.Run(ref context, held, index, key, SortedSetWork(context.Reply, value));
    }

    /// <summary>Words of what is said of it: see <see cref="Say"/>.</summary>
    public int WordsSaid => Count == 0 ? 2 : 3;

    /// <summary>Says what is taken, as a command that names the key and does not wait.</summary>
    public void Say(EffectBytes effect, ReadOnlySpan<byte> key)
    {
        effect.Add(Type == DataType.List ? FromFirst ? "LPOP"u8 : "RPOP"u8 : FromFirst ? "ZPOPMIN"u8 : "ZPOPMAX"u8);
        effect.Add(key);
        if (Count != 0) effect.Add(Count);
        effect.End();
    }

    private static bool IsAwaited(ref CommandContext context, ReadOnlySpan<byte> key) =>
        context.Server.Store.Databases.IsAwaited(context.Session.Database, context.Store.Key(key));

    /// <summary>Takes from a key that has elements, and writes the reply, all in this turn.</summary>
    public void Take(ReplyWriter reply, ReadOnlySpan<byte> key, HeldValue value)
    {
        Debug.Assert(value.Type == Type && Count >= 0, "what is taken from is of the type");
        if (Count == 0) TakeOne(reply, key, value);
        else if (Type == DataType.List) HeldWork.RunWhole(reply, key, value, ListWork(value));
        else HeldWork.RunWhole(reply, key, value, SortedSetWork(reply, value));
    }

    private void TakeOne(ReplyWriter reply, ReadOnlySpan<byte> key, HeldValue value)
    {
        Debug.Assert(value.Exists && value.Type == Type, "what is taken from has elements of the type");
        reply.WriteArray(Type == DataType.SortedSet ? 3 : 2);
        reply.WriteBulk(key);
        if (Type == DataType.List) ListEnds.TakeOne(reply, value, FromFirst);
        else SortedSetEnds.TakeOne(reply, new SortedSetValue(value), !FromFirst);
    }

    private ListTakeWork ListWork(HeldValue value) => new(new ListTake(new ListValue(value), FromFirst, Count));

    private SortedSetTakeWork SortedSetWork(ReplyWriter reply, HeldValue value) =>
        new(new SortedSetTake(new SortedSetValue(value), !FromFirst, Count),
            new ScoreForm(reply.Version, withScores: true, pairsAlways: true));
}
