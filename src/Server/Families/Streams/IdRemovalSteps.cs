using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Very many entries deleted, for XDEL, or no longer pending in a group, for XACK.</summary>
internal sealed class IdRemovalSteps : IdSteps
{
    private readonly uint _group;

    private IdRemovalSteps(ref CommandContext context, uint group)
        : base(ref context, context.Args.Position)
    {
        _group = group;
    }

    /// <summary>Begins, if there are very many; the next argument is the first id.</summary>
    /// <param name="group">What it is called in the region; 0: entries are deleted.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, uint group) =>
        AreMany(ref context) && new IdRemovalSteps(ref context, group).TryBegin(ref context, held);

    protected override bool TryBegin(HeldValue value, ref CommandArguments arguments, int ids, CollectedReply reply)
    {
        arguments.Skip(_group == 0 ? 1 : 2);
        bool areAll = arguments.Remaining == ids;
        if (!areAll) reply.Next().WriteError(StreamIdText.Invalid);
        return areAll;
    }

    protected override bool Do(HeldValue value, StreamId id, CollectedReply reply)
    {
        var stream = new StreamValue(value);
        if (_group == 0 ? stream.Delete(id) : stream.Groups.Acknowledge(_group, id)) Count++;
        return true;
    }

    protected override void End(CollectedReply reply) => reply.Next().WriteInteger(Count);
}
