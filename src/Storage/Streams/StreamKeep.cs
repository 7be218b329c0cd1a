namespace Kv.Storage;

/// <summary>Which entries of a stream stay when its oldest ones are removed. The default: all.</summary>
public readonly record struct StreamKeep
{
    private readonly StreamTrim _trim;

    private StreamKeep(StreamTrim trim)
    {
        _trim = trim;
        IsSome = true;
    }

    /// <summary>Some may have to go.</summary>
    internal bool IsSome { get; }

    internal StreamTrim Trim => _trim;

    /// <summary>The newest ones.</summary>
    /// <param name="maxLength">How many entries stay, at most.</param>
    /// <param name="isApproximate">Only whole leaves go, of up to 100 entries: a few more stay, and it costs
    /// less.</param>
    public static StreamKeep Newest(long maxLength, bool isApproximate = false)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(maxLength);
        return new(new StreamTrim { MaxLength = maxLength, IsApproximate = isApproximate });
    }

    /// <summary>Those whose ids are not below one.</summary>
    /// <param name="minId">The least id that stays.</param>
    /// <param name="isApproximate">As with the newest.</param>
    public static StreamKeep From(StreamId minId, bool isApproximate = false) =>
        new(new StreamTrim { IsByAge = true, MinId = minId, IsApproximate = isApproximate });
}
