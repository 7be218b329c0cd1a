using System.Buffers;
using System.Globalization;
using System.Text;

namespace Kv.Server.Reports;

/// <summary>Bytes of a client as a text that people may look at.</summary>
internal static class ShownText
{
    /// <summary>UTF-8 as it is; what is none, and what cannot be seen or changes how others are seen, as
    /// <c>\x00</c>.</summary>
    public static string Of(ReadOnlySpan<byte> bytes)
    {
        var text = new StringBuilder(bytes.Length);
        while (!bytes.IsEmpty)
        {
            bool isText = Rune.DecodeFromUtf8(bytes, out var rune, out int length) == OperationStatus.Done;
            if (isText && IsSeen(rune)) text.Append(rune.ToString());
            else
                foreach (byte one in bytes[..length]) text.Append(CultureInfo.InvariantCulture, $"\\x{one:x2}");
            bytes = bytes[length..];
        }

        return text.ToString();
    }

    private static bool IsSeen(Rune rune) => Rune.GetUnicodeCategory(rune) is not (UnicodeCategory.Control
        or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator
        or UnicodeCategory.Surrogate or UnicodeCategory.PrivateUse or UnicodeCategory.OtherNotAssigned);
}
