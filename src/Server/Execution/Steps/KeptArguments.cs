using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>All arguments of a command that may go on in later turns: where they were received, or kept.</summary>
/// <remarks>Those in blocks stay in the session's, which keeps them until the command is done.</remarks>
internal unsafe struct KeptArguments(Store store, Argument* items, int count, LargeCommand? large)
{
    private HeldCommand? _kept;

    /// <summary>Arguments with the command's name.</summary>
    public readonly int Count => count;

    /// <summary>The command's name, and behind it its arguments as they were sent.</summary>
    public readonly ReadOnlySpan<Argument> Span => new(_kept == null ? items : _kept.Items, count);

    /// <summary>Reads them one after another, beginning with the first that is not the command's name.</summary>
    public readonly CommandArguments Read() =>
        new(_kept == null ? items : _kept.Items, count, store: null!, keyIndex: 0, hash: 0, hint: 0, blocks: null);

    /// <summary>Keeps them; whoever does disposes them.</summary>
    public void Keep()
    {
        Debug.Assert(_kept == null, "they are kept once: what was received may be gone");
        _kept = new HeldCommand(items, count, store, large);
    }

    public void Dispose()
    {
        _kept?.Dispose();
        _kept = null;
    }
}
