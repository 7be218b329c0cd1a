using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>The primary to follow: <c>no one</c> or an empty text for none.</summary>
internal sealed class PrimaryType : OptionType<string>
{
    public override string Expects => "host port";

    public override bool ManyWords => true;

    public override string Format(string value) => value;

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        value = text.Equals("no one", StringComparison.OrdinalIgnoreCase) ? "" : text;
        error = "argument must be a host and a port";
        return value.Length == 0 || value.Split(' ').Length == 2;
    }
}
