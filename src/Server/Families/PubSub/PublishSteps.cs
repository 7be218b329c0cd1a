using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.PubSub;
using Kv.Server.Sessions;

namespace Kv.Server.Families;

/// <summary>The rest of a PUBLISH to very many patterns, or of a channel whose name takes them long to
/// compare.</summary>
internal sealed unsafe class PublishSteps(Publishing publishing, HeldCommand command) : ICommandSteps, IDisposable
{
    private Publishing _publishing = publishing;

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        Debug.Assert(command.Count == 3, "a channel and a message were kept");
        if (!_publishing.GoOn(command.Items[1].Span, command.Items[2].Span, mayStop: true)) return false;
        context.Reply.WriteInteger(_publishing.Receivers);
        Dispose();
        return true;
    }

    public void Dispose() => command.Dispose();
}
