using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Replies with a payload in the format of RDB files.</summary>
internal static class PayloadReply
{
    /// <param name="status">Whether the payload could be written.</param>
    public static void Write(ref CommandContext context, RdbOutput output, StoreStatus status)
    {
        if (status != StoreStatus.Ok)
        {
            output.Forget();
            context.Fail(Errors.For(status));
        }
        else if (output.IsInBlock)
        {
            Block block = output.TakeBlock(out int first);
            Debug.Assert(first >= 0 && first <= block.Length, "the payload lies in its block");
            context.Output.WriteBlock(context.Reply, block, first, (int)block.Length - first);
        }
        else
        {
            context.Reply.WriteBulk(output.Written);
        }
    }
}
