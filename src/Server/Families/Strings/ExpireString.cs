using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Writes a string into the reply and changes when it expires. With an error, writes that instead, but only if
/// there is a string.</summary>
internal ref struct ExpireString(SessionOutput output) : IValueUpdate
{
    private ReplyString _reply = new(output);

    public ReadOnlySpan<byte> Error;
    public bool Persists;
    public long ExpiryMs;
    public long NowMs;

    /// <summary>Whether something became of the string.</summary>
    public bool Changes { get; private set; }

    public Change Decide(in ValueView current, ref NewValue next)
    {
        if (current.Exists && !Error.IsEmpty)
        {
            _reply.Forget();
            _reply.WriteError(Error);
            return Change.None;
        }

        _reply.ReadOrNull(current);
        Changes = false;
        if (!current.Exists) return Change.None;
        if (Persists && current.ExpiryMs == NewValue.NoExpiry) return Change.None;
        Changes = true;
        if (!Persists && ExpiryMs <= NowMs) return Change.Delete;

        next.ExpiryMs = Persists ? NewValue.NoExpiry : ExpiryMs;
        return Change.Expire;
    }

    public readonly void Write(Span<byte> destination) => Debug.Fail("an expiry has no bytes");

    public void Forget() => _reply.Forget();
}
