using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Changes HyperLogLogs and answers what came of it.</summary>
internal static class HyperLogLogReply
{
    /// <summary>The session's scratch, by the options as of now.</summary>
    public static HyperLogLogDraft DraftOf(ref CommandContext context)
    {
        var draft = context.Store.Draft;
        draft.SparseBytesMax = context.Server.Options.HllSparseMaxBytes;
        return draft;
    }

    /// <summary>Adds elements and answers whether that has changed anything.</summary>
    public static void Add<TElements>(ref CommandContext context, in Key key, TElements elements)
        where TElements : struct, IElementList, allows ref struct
    {
        var add = new AddToHyperLogLog<TElements>(elements, DraftOf(ref context));
        var status = context.Store.Update(key, DataType.String, ref add);
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound)) context.Fail(Errors.For(status));
        else if (add.Status != HyperLogLogStatus.Ok) context.Fail(Errors.For(add.Status));
        else
        {
            // The row counts what is replied.
            if (add.Changes > 1) context.CountChanges(add.Changes - 1);
            context.Reply.WriteInteger(add.HasChanged ? 1 : 0);
        }
    }
}
