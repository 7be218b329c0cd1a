using System.Net.Security;

namespace RespBenchmark.Network;

/// <summary>Names of cipher suites as OpenSSL's lists and as the standards have them.</summary>
internal static class CipherNames
{
    private const string Prefix = "TLS_";

    private static readonly Dictionary<string, TlsCipherSuite> ByOpenSslName = Enum.GetValues<TlsCipherSuite>()
        .Select(suite => (Name: OpenSslName(suite.ToString()), Suite: suite)).Where(pair => pair.Name is not null)
        .DistinctBy(pair => pair.Name).ToDictionary(pair => pair.Name!, pair => pair.Suite);

    /// <summary>Suites of TLS 1.3: a list of older ciphers leaves those alone.</summary>
    public static IReadOnlyList<TlsCipherSuite> Newest { get; } =
        [TlsCipherSuite.TLS_AES_256_GCM_SHA384, TlsCipherSuite.TLS_CHACHA20_POLY1305_SHA256,
            TlsCipherSuite.TLS_AES_128_GCM_SHA256];

    /// <summary>Reads names between colons or commas, of either kind: ECDHE-RSA-AES128-GCM-SHA256 or
    /// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.</summary>
    /// <exception cref="ArgumentException">One is not known; classes of ciphers (HIGH, !aNULL) are none.</exception>
    public static IEnumerable<TlsCipherSuite> Read(string list)
    {
        foreach (string name in list.Split([':', ','],
            StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            if (ByOpenSslName.TryGetValue(name, out TlsCipherSuite known)) yield return known;
            else if (name.StartsWith(Prefix, StringComparison.Ordinal) && Enum.TryParse(name, out TlsCipherSuite named))
                yield return named;
            else throw new ArgumentException(
                $"cipher '{name}' is not known: give suites by name, like ECDHE-RSA-AES128-GCM-SHA256");
        }
    }

    //  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256         ECDHE-RSA-AES128-GCM-SHA256
    //  TLS_RSA_WITH_AES_256_CBC_SHA256               AES256-SHA256
    //  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256   ECDHE-RSA-CHACHA20-POLY1305

    /// <summary>The exchange of keys unless it is plain RSA; the cipher with its bits; the hash, but not after
    /// POLY1305.</summary>
    private static string? OpenSslName(string suite)
    {
        int with = suite.IndexOf("_WITH_", StringComparison.Ordinal);
        if (with < 0 || !suite.StartsWith(Prefix, StringComparison.Ordinal)) return null;
        string exchange = suite[Prefix.Length..with].Replace('_', '-');
        string cipher = suite[(with + "_WITH_".Length)..].Replace("AES_128_", "AES128_", StringComparison.Ordinal)
            .Replace("AES_256_", "AES256_", StringComparison.Ordinal).Replace("_CBC_", "_", StringComparison.Ordinal)
                .Replace('_', '-');
        if (cipher.StartsWith("CHACHA20-POLY1305", StringComparison.Ordinal)) cipher = "CHACHA20-POLY1305";
        return exchange == "RSA" ? cipher : $"{exchange}-{cipher}";
    }
}
