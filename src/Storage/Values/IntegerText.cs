namespace Kv.Storage;

/// <summary>Whether bytes are a 64-bit integer exactly as it is written: no sign of plus, no zeros ahead, no spaces.</summary>
internal static class IntegerText
{
    private const int DigitsMax = 20;

    public static bool TryParse(ReadOnlySpan<byte> text, out long number)
    {
        number = 0;
        if (text.Length is 0 or > DigitsMax) return false;
        bool isNegative = text[0] == '-';
        ReadOnlySpan<byte> digits = isNegative ? text[1..] : text;
        if (digits.Length == 0 || (digits[0] == '0' && (digits.Length > 1 || isNegative))) return false;
        ulong value = 0;
        foreach (byte digit in digits)
        {
            uint next = digit - (uint)'0';
            if (next > 9 || value > (ulong.MaxValue - next) / 10) return false;
            value = (value * 10) + next;
        }

        if (value > (ulong)long.MaxValue + (isNegative ? 1UL : 0)) return false;
        number = isNegative ? unchecked((long)(0 - value)) : (long)value;
        return true;
    }
}
