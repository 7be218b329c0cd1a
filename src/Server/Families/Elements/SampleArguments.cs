using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>What HRANDFIELD and ZRANDMEMBER are asked for, behind the key: a count, and whether values (scores) come
/// with it.</summary>
internal readonly struct SampleArguments
{
    /// <summary>Whether an array is asked for. Without a count the reply is one element by itself.</summary>
    public bool HasCount { get; private init; }

    /// <summary>So many different ones; below 0 so many that may be the same.</summary>
    public long Count { get; private init; }

    /// <summary>Whether values come with them.</summary>
    public bool WithValues { get; private init; }

    /// <summary>Whether the reply would have more elements than one can announce.</summary>
    public bool IsTooLarge => Count < -int.MaxValue / 2;

    /// <summary>Reads them all, to the end of the command.</summary>
    /// <param name="keyword">Asks for values.</param>
    public static SampleArguments Read(ref CommandArguments arguments, ReadOnlySpan<byte> keyword)
    {
        if (arguments.Remaining == 0) return new SampleArguments { Count = 1 };
        long count = arguments.NextInt64();
        if (count == long.MinValue) arguments.Fail(Errors.OutOfSymmetricRange);
        bool withValues = false;
        if (arguments.Remaining > 0)
        {
            withValues = arguments.TryKeyword(keyword);
            if (!withValues || arguments.Remaining > 0) arguments.SyntaxError();
            else if (count is < -long.MaxValue / 2 or > long.MaxValue / 2) arguments.Fail(Errors.OutOfRange);
        }

        return new SampleArguments { HasCount = true, Count = count, WithValues = withValues };
    }
}
