using Kv.Server.Execution;
using Kv.Server.PubSub;

namespace Kv.Server.Families;

/// <summary>The rest of a PUBLISH to very many patterns, or of a channel whose name takes them long to compare.</summary>
internal sealed class PublishSteps(Publishing publishing, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> payload) : ICommandSteps
{
    private readonly byte[] _channel = channel.ToArray(), _payload = payload.ToArray();
    private Publishing _publishing = publishing;

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (!_publishing.GoOn(_channel, _payload, mayStop: true)) return false;
        context.Reply.WriteInteger(_publishing.Receivers);
        return true;
    }
}
