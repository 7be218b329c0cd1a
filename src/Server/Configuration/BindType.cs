using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>Addresses to listen on; an empty text is none.</summary>
internal sealed class BindType : OptionType<IReadOnlyList<string>>
{
    /// <summary>As many as anyone has interfaces; each one is a socket.</summary>
    private const int AddressesMax = 16;

    public override string Expects => "addresses";

    public override bool ManyWords => true;

    public override string Format(IReadOnlyList<string> value) => string.Join(' ', value);

    public override bool TryParse(
        string text, IReadOnlyList<string> current, out IReadOnlyList<string> value, out string error)
    {
        string[] words = text.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        value = words;
        error = "Too many bind addresses specified.";
        if (words.Length > AddressesMax) return false;
        error = "argument must be a list of addresses";
        return words.All(word => BindAddress.TryParse(word, out _));
    }
}
