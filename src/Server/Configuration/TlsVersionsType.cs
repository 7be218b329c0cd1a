namespace Kv.Server.Configuration;

/// <summary>Versions of TLS, divided by spaces; empty for those that are served.</summary>
internal sealed class TlsVersionsType : OptionType<string>
{
    /// <summary>What is served, as it is written here.</summary>
    public const string Tls12 = "TLSv1.2", Tls13 = "TLSv1.3";

    private static readonly string[] TooOld = ["TLSv1", "TLSv1.0", "TLSv1.1", "SSLv2", "SSLv3"];

    public override string Expects => $"{Tls12}, {Tls13} or both";

    public override string Format(string value) => value;

    public override IReadOnlyList<string> FileTexts(string value) => [ConfigLine.Quote(value)];

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        (value, error) = (text, "");
        foreach (string word in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (Is(word, Tls12) || Is(word, Tls13)) continue;
            error = Array.Exists(TooOld, old => Is(word, old))
                ? $"{word} is not served, since it is no longer safe: use {Expects}"
                : "Invalid tls-protocols specified. Use a combination of 'TLSv1.2' and 'TLSv1.3'.";
            return false;
        }

        return true;
    }

    /// <summary>Whether a list has a version; an empty one has all.</summary>
    public static bool Has(string list, string version)
    {
        string[] words = list.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        return words.Length == 0 || Array.Exists(words, word => Is(word, version));
    }

    private static bool Is(string word, string version) => word.Equals(version, StringComparison.OrdinalIgnoreCase);
}
