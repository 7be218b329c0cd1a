using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Patterns;
using Kv.Server.PubSub;

namespace Kv.Server.Families;

/// <summary>PUBSUB CHANNELS: the channels that match, collected a piece at a time.</summary>
/// <remarks>A channel that comes or goes meanwhile may or may not be there. Threads: the session's.</remarks>
internal sealed class ChannelList : ICommandSteps, IDisposable
{
    private readonly PubSubEngine _engine;
    private readonly CollectedReply _reply;
    private readonly bool _isShard;
    private readonly byte[]? _pattern;
    private byte[][] _names = [];
    private int _part, _at, _count;

    private ChannelList(ref CommandContext context, bool isShard, byte[]? pattern)
    {
        _engine = context.Server.PubSub;
        _isShard = isShard;
        _pattern = pattern;
        _reply = new CollectedReply(context.Server.Store,
            context.Server.Options.MaxReplyBytes) { Version = context.Reply.Version };
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <summary>Answers, or leaves the rest to later turns.</summary>
    /// <param name="pattern">Null: every channel.</param>
    public static void Run(ref CommandContext context, bool isShard, byte[]? pattern)
    {
        var list = new ChannelList(ref context, isShard, pattern);
        try
        {
            // Ends: each step gets on.
            while (!list.Step(ref context))
            {
                if (context.InTransaction) continue;
                context.Continue(list);
                return;
            }
        }
        catch
        {
            list.Dispose();
            throw;
        }
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        bool isDone = _reply.IsBegun ? _reply.PassOn(context.Output) : Collect() && Answer(ref context);
        if (isDone) Dispose();
        return isDone;
    }

    public void Dispose() => _reply.Dispose();

    private bool Collect()
    {
        Debug.Assert(_part <= ChannelMap.Parts && _at <= _names.Length, "each part is listed once");
        for (var budget = new StepBudget(_reply); budget.TryTake();)
        {
            if (_at == _names.Length)
            {
                if (_part == ChannelMap.Parts) break;
                _names = _engine.ChannelNames(_isShard, _part++);
                _at = 0;
                continue;
            }

            byte[] name = _names[_at++];
            if (_pattern != null && !GlobPattern.IsMatch(_pattern, name)) continue;
            _reply.Next().WriteBulk(name);
            _count++;
        }

        _reply.CheckSize();
        return _part == ChannelMap.Parts && _at == _names.Length;
    }

    private bool Answer(ref CommandContext context)
    {
        context.Reply.WriteArray(_count);
        return _count == 0 || _reply.Begin(context.Output);
    }
}
