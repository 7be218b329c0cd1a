using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>DUMP of a long value, in steps. What is written is in a block, and sent without a copy.</summary>
/// <remarks>Threads: the session's.</remarks>
internal sealed class DumpSteps : ICommandSteps, IDisposable
{
    private readonly ValueDump _dump;

    private DumpSteps(ref CommandContext context) =>
        _dump = new ValueDump(context.Server.Store, context.Server.Options.RdbCompression, new StepsOwner(context));

    /// <inheritdoc/>
    public bool Holds => _dump.Holds;

    /// <summary>Begins, if the value is long.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held)
    {
        if (!context.MayStep || !ValueDump.IsLong(held)) return false;
        if (context.TryPostpone()) return true;
        var dump = new DumpSteps(ref context);
        if (dump._dump.TryBegin(held))
        {
            context.Continue(dump);
            return true;
        }

        dump.Dispose();
        return false;
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (!_dump.Step()) return false;
        Answer(ref context, _dump.Output);
        Dispose();
        return true;
    }

    public void Dispose() => _dump.Dispose();

    private static void Answer(ref CommandContext context, RdbOutput output)
    {
        if (output.Status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(output.Status));
        }
        else if (output.IsInBlock)
        {
            Block block = output.TakeBlock(out int first);
            context.Output.WriteBlock(context.Reply, block, first, (int)block.Length - first);
        }
        else
        {
            context.Reply.WriteBulk(output.Written);
        }
    }
}
