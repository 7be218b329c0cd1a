using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>BITOP: the first key of a list becomes the combination of the others.</summary>
/// <remarks>
/// All keys are held while up to 4 MB are combined. More is combined in steps from what the sources were at one
/// instant; then the keys are held and, if no source has changed, the result is set; else it begins anew, the third
/// time under the hold.
/// </remarks>
internal static class BitCombination
{
    private const long BytesAtOnceMax = 4 * 1024 * 1024;

    /// <summary>Answers the length of the result, at once or in later turns.</summary>
    public static void Run(ref CommandContext context, BitOperation operation, KeyList keys)
    {
        using HeldKeys held = context.Store.Hold(keys);
        if (held.Status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(held.Status));
            return;
        }

        long bytes = 0, longest = 0;
        for (int i = 1; i < keys.Count; i++)
        {
            ValueView source = held.View(i);
            if (!source.Exists) continue;
            if (source.Type != DataType.String)
            {
                context.Fail(Errors.WrongType);
                return;
            }

            bytes += source.StringLength;
            longest = Math.Max(longest, source.StringLength);
        }

        if (bytes > BytesAtOnceMax)
            context.Continue(new BitCombinationSteps(context.Store, operation, keys, context.Session.Database));
        else Finish(ref context, operation, held, keys.Count, longest);
    }

    /// <summary>Combines held keys and answers.</summary>
    internal static void Finish(ref CommandContext context, BitOperation operation, in HeldKeys held, int count,
        long longest)
    {
        Debug.Assert(count >= 2 && longest >= 0, "there is a source, and a destination");
        StoreStatus status = StoreStatus.Ok;
        if (longest == 0)
        {
            if (held.Exists(0)) context.CountChanges(1);
            held.Delete(0);
        }
        else
        {
            var update = new CombineBits { Operation = operation, Held = held, Count = count, Length = longest };
            status = held.Update(0, DataType.Any, ref update);
        }

        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(longest);
        else context.Fail(Errors.For(status));
    }
}
