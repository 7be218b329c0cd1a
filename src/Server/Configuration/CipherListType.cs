using System.Net.Security;

namespace Kv.Server.Configuration;

/// <summary>Names of cipher suites between colons; empty for those of .NET.</summary>
/// <param name="newest">Whether they are of TLS 1.3; else of TLS 1.2.</param>
internal sealed class CipherListType(bool newest) : OptionType<string>
{
    public override string Expects => newest ? "suites of TLS 1.3" : "suites of TLS 1.2";

    public override string Format(string value) => value;

    public override IReadOnlyList<string> FileTexts(string value) => [ConfigLine.Quote(value)];

    public override bool TryParse(string text, string current, out string value, out string error)
    {
        (value, error) = (text, "");
        if (text.Length > TextType.CharsMax) error = $"argument is longer than {TextType.CharsMax} characters";
        foreach (string name in Names(text))
        {
            if (error.Length > 0) break;
            if (!CipherNames.TryFind(name, newest, out _))
                error = $"'{name}' is no cipher suite of TLS {(newest ? "1.3" : "1.2")} that is known here; name each "
                    + $"suite, such as {CipherNames.Example(newest)} (classes such as HIGH or !MD5 are not read)";
        }

        return error.Length == 0;
    }

    /// <summary>The suites of a list that has been checked.</summary>
    public static IEnumerable<TlsCipherSuite> Read(string list, bool newest)
    {
        foreach (string name in Names(list))
            if (CipherNames.TryFind(name, newest, out var suite)) yield return suite;
    }

    private static string[] Names(string list) =>
        list.Split([':', ',', ' '], StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
}
