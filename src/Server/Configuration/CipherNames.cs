using System.Net.Security;

namespace Kv.Server.Configuration;

/// <summary>The cipher suites that may be asked for, by the names of OpenSSL and of the standards.</summary>
internal static class CipherNames
{
    /// <summary>All of TLS 1.3 that .NET speaks, in the order of preference.</summary>
    public static readonly TlsCipherSuite[] OfTls13 =
    [
        TlsCipherSuite.TLS_AES_256_GCM_SHA384, TlsCipherSuite.TLS_CHACHA20_POLY1305_SHA256,
        TlsCipherSuite.TLS_AES_128_GCM_SHA256,
    ];

    /// <summary>Those of TLS 1.2 that are served when only the others are named: keys that are forgotten, and no
    /// CBC.</summary>
    public static TlsCipherSuite[] OfTls12 => [.. Older.Take(6).Select(pair => pair.Suite)];

    private static readonly (string Name, TlsCipherSuite Suite)[] Older =
    [
        ("ECDHE-ECDSA-AES256-GCM-SHA384", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
        ("ECDHE-RSA-AES256-GCM-SHA384", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
        ("ECDHE-RSA-CHACHA20-POLY1305", TlsCipherSuite.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
        ("ECDHE-ECDSA-AES128-GCM-SHA256", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
        ("ECDHE-RSA-AES128-GCM-SHA256", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
        ("ECDHE-ECDSA-AES256-SHA384", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384),
        ("ECDHE-RSA-AES256-SHA384", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384),
        ("ECDHE-ECDSA-AES128-SHA256", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256),
        ("ECDHE-RSA-AES128-SHA256", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256),
        ("ECDHE-ECDSA-AES256-SHA", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA),
        ("ECDHE-RSA-AES256-SHA", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA),
        ("ECDHE-ECDSA-AES128-SHA", TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA),
        ("ECDHE-RSA-AES128-SHA", TlsCipherSuite.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA),
        ("AES256-GCM-SHA384", TlsCipherSuite.TLS_RSA_WITH_AES_256_GCM_SHA384),
        ("AES128-GCM-SHA256", TlsCipherSuite.TLS_RSA_WITH_AES_128_GCM_SHA256),
        ("AES256-SHA256", TlsCipherSuite.TLS_RSA_WITH_AES_256_CBC_SHA256),
        ("AES128-SHA256", TlsCipherSuite.TLS_RSA_WITH_AES_128_CBC_SHA256),
        ("AES256-SHA", TlsCipherSuite.TLS_RSA_WITH_AES_256_CBC_SHA),
        ("AES128-SHA", TlsCipherSuite.TLS_RSA_WITH_AES_128_CBC_SHA),
    ];

    /// <summary>Finds a suite, in any case of letters.</summary>
    public static bool TryFind(string name, bool newest, out TlsCipherSuite suite)
    {
        var known = newest ? OfTls13.Select(each => (Name: $"{each}", Suite: each)) : Older;
        foreach (var (each, found) in known)
        {
            suite = found;
            if (name.Equals(each, StringComparison.OrdinalIgnoreCase)
                || name.Equals($"{found}", StringComparison.OrdinalIgnoreCase)) return true;
        }

        suite = default;
        return false;
    }

    public static string Example(bool newest) => newest ? $"{OfTls13[0]}" : Older[1].Name;
}
