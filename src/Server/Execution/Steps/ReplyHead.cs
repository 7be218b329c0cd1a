using Kv.Protocol;

namespace Kv.Server.Execution;

/// <summary>What a reply begins with, whose elements are found one after another.</summary>
internal enum ReplyHead : byte
{
    Array,
    Set,
    Map,

    /// <summary>There are none: the reply is the number.</summary>
    Number,

    /// <summary>There are none: the reply is OK.</summary>
    Ok,

    /// <summary>Nothing: what is collected is the reply.</summary>
    None,
}

/// <summary>Writes it.</summary>
internal static class ReplyHeads
{
    /// <summary>Before the elements; of a number, or OK, all there is.</summary>
    public static void Write(this ReplyHead head, ReplyWriter reply, long count)
    {
        if (head == ReplyHead.Number) reply.WriteInteger(count);
        else if (head == ReplyHead.Ok) reply.WriteOk();
        else if (head == ReplyHead.Set) reply.WriteSet((int)count);
        else if (head == ReplyHead.Map) reply.WriteMap((int)count);
        else if (head == ReplyHead.Array) reply.WriteArray((int)count);
    }

    /// <summary>Before the elements, when they are there; of a number, or OK, all there is.</summary>
    /// <param name="begin">Where they begin.</param>
    public static void WriteAhead(this ReplyHead head, ReplyWriter reply, ReplyMark begin, long count)
    {
        if (head == ReplyHead.Set) reply.EndSet(begin, (int)count);
        else if (head == ReplyHead.Map) reply.EndMap(begin, (int)count);
        else if (head == ReplyHead.Array) reply.EndArray(begin, (int)count);
        else head.Write(reply, count);
    }
}
