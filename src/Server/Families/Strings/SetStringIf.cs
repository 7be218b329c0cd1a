using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Stores a string, on a condition, and writes the old one into the reply if that is wanted.</summary>
internal ref struct SetStringIf(SessionOutput output) : IValueUpdate
{
    private ReplyString _reply = new(output);

    public ReadOnlySpan<byte> Value;
    public Block Block;
    public SetCondition Condition;
    public bool RepliesOld;
    public bool KeepExpiry;
    public bool Done;
    public long ExpiryMs;
    public long NowMs;

    public Change Decide(in ValueView current, ref NewValue next)
    {
        Debug.Assert(!KeepExpiry || ExpiryMs == NewValue.NoExpiry, "a string keeps its expiry, or gets one");
        if (RepliesOld) _reply.ReadOrNull(current);
        Done = Condition == SetCondition.Always || (Condition == SetCondition.IfPresent) == current.Exists;
        if (!Done) return Change.None;

        // A time that has passed already: as if the string were stored and expired at once.
        if (ExpiryMs != NewValue.NoExpiry && ExpiryMs <= NowMs) return Change.Delete;

        next.Kind = ValueKind.String;
        next.Length = Value.Length;
        next.Block = Block;
        if (!KeepExpiry) next.ExpiryMs = ExpiryMs;
        return Change.Replace;
    }

    public readonly void Write(Span<byte> destination) => Value.CopyTo(destination);

    public void Forget() => _reply.Forget();
}
