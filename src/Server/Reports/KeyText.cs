using System.Globalization;
using System.Text;

namespace Kv.Server.Reports;

/// <summary>The name of a key in a line of INFO, whose fields end with commas.</summary>
internal static class KeyText
{
    /// <summary>Of a longer name this much is shown.</summary>
    private const int BytesMax = 128;

    /// <summary>Appends a name: printable ASCII as it is, all else as \xHH; dots after what is only its
    /// beginning.</summary>
    public static void AppendKey(this StringBuilder text, ReadOnlySpan<byte> name, bool isCut)
    {
        foreach (byte letter in name[..Math.Min(name.Length, BytesMax)])
        {
            if (letter is > (byte)' ' and <= (byte)'~' and not ((byte)',' or (byte)'=' or (byte)'\\'))
                text.Append((char)letter);
            else text.Append(CultureInfo.InvariantCulture, $"\\x{letter:x2}");
        }

        if (isCut || name.Length > BytesMax) text.Append("...");
    }
}
