using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Sets when a key expires if the conditions hold; deletes it if that has passed.</summary>
internal struct SetExpiryWhen : IValueUpdate
{
    public ExpiryConditions Conditions;
    public long ExpiryMs;
    public long NowMs;
    public bool Done;

    public Change Decide(in ValueView current, ref NewValue next)
    {
        Debug.Assert(!Has(ExpiryConditions.IfNone) || Conditions == ExpiryConditions.IfNone, "NX stands alone");
        Done = current.Exists && Holds(current.ExpiryMs);
        if (!Done) return Change.None;
        if (ExpiryMs <= NowMs) return Change.Delete;
        next.ExpiryMs = ExpiryMs;
        return Change.Expire;
    }

    public readonly void Write(Span<byte> destination) => Debug.Fail("an expiry has no bytes");

    // A key without expiry counts as one that expires after any other.
    private readonly bool Holds(long currentMs)
    {
        bool has = currentMs != NewValue.NoExpiry;
        if (Conditions == ExpiryConditions.None) return true;
        if (Has(ExpiryConditions.IfNone) && has) return false;
        if (Has(ExpiryConditions.IfAny) && !has) return false;
        if (Has(ExpiryConditions.IfLater) && (!has || ExpiryMs <= currentMs)) return false;
        return !Has(ExpiryConditions.IfEarlier) || !has || ExpiryMs < currentMs;
    }

    private readonly bool Has(ExpiryConditions condition) => (Conditions & condition) != 0;
}
