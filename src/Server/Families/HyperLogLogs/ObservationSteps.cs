using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>PFADD of very many elements: looks at them in steps, without the key, then adds those that are higher than
/// all before them of their register, which is the instant at which it happens.</summary>
/// <remarks>The others raise nothing, whatever the key holds. Of a million different ones some 50,000 are left.
/// Threads: the session's.</remarks>
internal sealed unsafe class ObservationSteps : ICommandSteps, IDisposable
{
    private const int ElementsPerStep = 4096;

    private readonly HeldCommand _command;
    private readonly byte[] _ranks = new byte[HyperLogLog.Registers];
    private readonly HyperLogLog.Observation* _kept;
    private int _at, _count;

    private ObservationSteps(ref CommandContext context, int first)
    {
        _command = context.Args.Keep(context.Server.Store);
        _at = first;
        // What is left of an argument comes to where the arguments were: it is shorter, and behind it nothing is read
        // again.
        _kept = (HyperLogLog.Observation*)(_command.Items + first);
    }

    /// <summary>Begins, if there are very many.</summary>
    /// <param name="first">The first of them.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, int first)
    {
        if (!HeldSteps.IsWanted(ref context, context.Args.Count)) return false;
        context.Continue(new ObservationSteps(ref context, first));
        return true;
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        int end = Math.Min(_command.Count, _at + ElementsPerStep);
        for (; _at < end; _at++)
        {
            var seen = HyperLogLog.Observe(_command.Items[_at].Span);
            if (_ranks[seen.Register] >= seen.Rank) continue;
            _ranks[seen.Register] = (byte)seen.Rank;
            _kept[_count++] = seen;
        }

        if (_at < _command.Count) return false;
        HyperLogLogReply.Add(ref context, context.Store.Key(_command.Items[1].Span), new Kept(_kept, _count));
        Dispose();
        return true;
    }

    public void Dispose()
    {
        _command.Dispose();
    }

    private readonly struct Kept(HyperLogLog.Observation* kept, int count) : IElementList
    {
        public int Count => count;

        public HyperLogLog.Observation Observe(int index) => kept[index];
    }
}
