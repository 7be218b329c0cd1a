namespace Kv.Storage;

/// <summary>When a field's expiry may be changed. A field without one counts as one that expires last of all.</summary>
public enum FieldExpiryRule : byte
{
    /// <summary>Whatever it was.</summary>
    Always = 0,

    /// <summary>Only if it had none.</summary>
    IfNone = 1,

    /// <summary>Only if it had one.</summary>
    IfAny = 2,

    /// <summary>Only to a later one.</summary>
    IfLater = 3,

    /// <summary>Only to an earlier one.</summary>
    IfEarlier = 4,
}

/// <summary>What became of a field's expiry.</summary>
public enum FieldExpiryStatus : byte
{
    /// <summary>There is no such field.</summary>
    NoField = 0,

    /// <summary>It is as it was: the rule, or that there was none to take, left it.</summary>
    Unchanged = 1,

    /// <summary>It is changed.</summary>
    Changed = 2,

    /// <summary>The time had passed already: the field was removed.</summary>
    Removed = 3,
}

/// <summary>What the rules say.</summary>
internal static class FieldExpiryRules
{
    /// <summary>Whether one expiry may take the place of another.</summary>
    /// <param name="oldMs">Unix milliseconds, or -1.</param>
    public static bool Allows(this FieldExpiryRule rule, long oldMs, long newMs) => rule switch
    {
        FieldExpiryRule.IfNone => oldMs == FieldExpiry.None,
        FieldExpiryRule.IfAny => oldMs != FieldExpiry.None,
        FieldExpiryRule.IfLater => oldMs != FieldExpiry.None && newMs > oldMs,
        FieldExpiryRule.IfEarlier => oldMs == FieldExpiry.None || newMs < oldMs,
        _ => true,
    };
}
