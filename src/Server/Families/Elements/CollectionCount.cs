using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>LLEN, HLEN, SCARD, ZCARD and XLEN.</summary>
internal static class CollectionCount
{
    /// <summary>Replies with the number of elements of the collection at the command's only argument; a missing key has
    /// none.</summary>
    public static void Reply(ref CommandContext context, DataType type)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        scoped var read = new ReadCount(in context.Store.MemberHash);
        var status = context.Store.Read(key, type, ref read);
        if (context.TryBegin(status)) context.Reply.WriteInteger(status == StoreStatus.Ok ? read.Count : 0);
    }
}
