using System.Diagnostics;
using Kv.Protocol;

namespace Kv.Server.Execution;

/// <summary>An argument of a command that may go on in later turns.</summary>
internal struct KeptArgument(Argument argument)
{
    private byte[]? _copy;

    /// <summary>Its bytes: in this turn, or for good once it is kept.</summary>
    public readonly ReadOnlySpan<byte> Span => _copy ?? argument.Span;

    /// <summary>Copies it.</summary>
    public void Keep()
    {
        Debug.Assert(_copy == null, "it is kept once: what was received may be gone");
        _copy = argument.Span.ToArray();
    }
}
