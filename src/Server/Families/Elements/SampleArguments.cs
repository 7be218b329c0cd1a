using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>The arguments of HRANDFIELD and ZRANDMEMBER after the key: a count, and whether values (scores) are
/// wanted.</summary>
internal readonly struct SampleArguments
{
    /// <summary>Whether an array is asked for. Without a count the reply is one element by itself.</summary>
    public bool HasCount { get; private init; }

    /// <summary>How many different elements are wanted; if negative, how many that may repeat.</summary>
    public long Count { get; private init; }

    /// <summary>Whether the elements' values are wanted, too.</summary>
    public bool WithValues { get; private init; }

    /// <summary>Whether the reply would have more elements than an array can.</summary>
    public bool IsTooLarge => Count < -int.MaxValue / 2;

    /// <summary>Reads all arguments to the end of the command.</summary>
    /// <param name="keyword">The word that asks for values.</param>
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
