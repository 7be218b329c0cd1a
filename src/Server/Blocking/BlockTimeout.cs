using Kv.Protocol;
using Kv.Server.Execution;

namespace Kv.Server.Blocking;

/// <summary>How long a blocking command waits, as its argument says: milliseconds, 0 for ever.</summary>
internal static class BlockTimeout
{
    private const double MsMax = long.MaxValue;

    /// <summary>Seconds, with decimals: rounded up to a millisecond.</summary>
    public static long NextSeconds(ref CommandArguments args) => Seconds(ref args, args.NextBytes());

    /// <summary>The same of any argument, for commands that look at others first.</summary>
    public static long SecondsAt(ref CommandArguments args, int index) => Seconds(ref args, args[index].Span);

    private static long Seconds(ref CommandArguments args, ReadOnlySpan<byte> text)
    {
        if (args.Failed) return 0;
        if (!TryReadSeconds(text, out double seconds))
        {
            args.Fail("ERR timeout is not a float or out of range"u8);
            return 0;
        }

        // 16.1 s are 16,100.000000000002 ms for a double: that is no millisecond more.
        double ms = seconds * 1000, nearest = Math.Round(ms);
        ms = nearest != 0 && Math.Abs(ms - nearest) < Math.Abs(ms) * 1e-12 ? nearest : Math.Ceiling(ms);
        if (ms < 0) args.Fail("ERR timeout is negative"u8);
        else if (ms >= MsMax) args.Fail("ERR timeout is out of range"u8);
        return args.Failed ? 0 : (long)ms;
    }

    /// <summary>Milliseconds, a whole number.</summary>
    public static long NextMilliseconds(ref CommandArguments args)
    {
        long ms = args.NextInt64(long.MinValue, long.MaxValue, "ERR timeout is not an integer or out of range"u8);
        if (!args.Failed && ms < 0) args.Fail("ERR timeout is negative"u8);
        return args.Failed ? 0 : ms;
    }

    // What a double is too small for is a number all the same.
    private static bool TryReadSeconds(ReadOnlySpan<byte> text, out double seconds)
    {
        if (NumberText.TryParseDouble(text, out seconds)) return !double.IsNaN(seconds);
        if (!ExtendedFloat.TryParse(text, out _)) return false;
        seconds = text[0] == '-' ? double.NegativeInfinity : double.PositiveInfinity;
        return true;
    }
}
