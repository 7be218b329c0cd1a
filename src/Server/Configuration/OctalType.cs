namespace Kv.Server.Configuration;

/// <summary>Permission bits, octal.</summary>
internal sealed class OctalType(int max) : OptionType<long>
{
    public override string Expects => "octal, 0..777";

    public override string Format(long value) => Convert.ToString(value, 8);

    public override bool TryParse(string text, long current, out long value, out string error)
    {
        value = 0;
        error = "argument couldn't be parsed as an octal number";
        if (text.Length is 0 or > 20 || text.Any(c => c is < '0' or > '7')) return false;
        error = $"argument must be between 0 and {Convert.ToString(max, 8)} inclusive";
        foreach (char digit in text)
        {
            value = value * 8 + (digit - '0');
            if (value > max) return false;
        }

        return true;
    }
}
