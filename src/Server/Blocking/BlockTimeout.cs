using Kv.Protocol;
using Kv.Server.Execution;

namespace Kv.Server.Blocking;

/// <summary>Reads how long a blocking command waits, in milliseconds; 0: for ever.</summary>
internal static class BlockTimeout
{
    private const double MsMax = long.MaxValue;

    /// <summary>Reads the next argument, seconds with decimals, rounded up to a millisecond.</summary>
    public static long NextSeconds(ref CommandArguments args) => Seconds(ref args, args.NextBytes());

    /// <summary>Reads any argument as seconds, for commands that look at other arguments first.</summary>
    public static long SecondsAt(ref CommandArguments args, int index) => Seconds(ref args, args[index].Span);

    private static long Seconds(ref CommandArguments args, ReadOnlySpan<byte> text)
    {
        if (args.Failed) return 0;
        if (!TryReadSeconds(text, out double seconds))
        {
            args.Fail("ERR timeout is not a float or out of range"u8);
            return 0;
        }

        // As a double 16.1 s are 16,100.000000000002 ms, which must not become a millisecond more.
        double ms = seconds * 1000, nearest = Math.Round(ms);
        ms = nearest != 0 && Math.Abs(ms - nearest) < Math.Abs(ms) * 1e-12 ? nearest : Math.Ceiling(ms);
        if (ms < 0) args.Fail("ERR timeout is negative"u8);
        else if (ms >= MsMax) args.Fail("ERR timeout is out of range"u8);
        return args.Failed ? 0 : (long)ms;
    }

    /// <summary>Reads the next argument, a whole number of milliseconds.</summary>
    public static long NextMilliseconds(ref CommandArguments args)
    {
        long ms = args.NextInt64(long.MinValue, long.MaxValue, "ERR timeout is not an integer or out of range"u8);
        if (!args.Failed && ms < 0) args.Fail("ERR timeout is negative"u8);
        return args.Failed ? 0 : ms;
    }

    // A number beyond the range of a double is a number all the same: out of range, not malformed.
    private static bool TryReadSeconds(ReadOnlySpan<byte> text, out double seconds)
    {
        if (NumberText.TryParseDouble(text, out seconds)) return !double.IsNaN(seconds);
        if (!ExtendedFloat.TryParse(text, out _)) return false;
        seconds = text[0] == '-' ? double.NegativeInfinity : double.PositiveInfinity;
        return true;
    }
}
