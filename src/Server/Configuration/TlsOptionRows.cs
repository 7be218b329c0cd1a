namespace Kv.Server.Configuration;

/// <summary>The options of TLS that have an effect.</summary>
internal static class TlsOptionRows
{
    private static readonly TextType Path = new("path");

    internal static readonly Option[] Rows =
    [
        new Option<long>("tls-port", new NumberType(0, 65535), o => o.Tls.Port, (o, v) => o.Tls.Port = (int)v)
        {
            Summary = "port for TLS; 0 for none", Change = OptionChange.ByHandler,
        },
        new Option<string>("tls-cert-file", Path, o => o.Tls.CertFile, (o, v) => o.Tls.CertFile = v)
        {
            Summary = "the server's certificate, PEM or PFX", Change = OptionChange.Protected,
        },
        new Option<string>("tls-key-file", Path, o => o.Tls.KeyFile, (o, v) => o.Tls.KeyFile = v)
        {
            Summary = "its private key, PEM; not needed if tls-cert-file has it", Change = OptionChange.Protected,
        },
        new Option<string>("tls-key-file-pass", new TextType("password"), o => o.Tls.KeyFilePass,
            (o, v) => o.Tls.KeyFilePass = v)
        {
            Summary = "password of the private key, or of the PFX", Change = OptionChange.Live, IsSecret = true,
        },
        new Option<string>("tls-ca-cert-file", Path, o => o.Tls.CaCertFile, (o, v) => o.Tls.CaCertFile = v)
        {
            Summary = "authorities of clients' certificates, PEM", Change = OptionChange.Protected,
        },
        new Option<string>("tls-ca-cert-dir", Path, o => o.Tls.CaCertDir, (o, v) => o.Tls.CaCertDir = v)
        {
            Summary = "a folder of such files", Change = OptionChange.Protected,
        },
        new Option<TlsAuthClients>("tls-auth-clients",
            new WordType<TlsAuthClients>(("no", TlsAuthClients.No), ("yes", TlsAuthClients.Yes),
                ("optional", TlsAuthClients.Optional)),
            o => o.Tls.AuthClients, (o, v) => o.Tls.AuthClients = v)
        {
            Summary = "whether clients have to show a certificate", Change = OptionChange.Live,
        },
        new Option<TlsClientUser>("tls-auth-clients-user",
            new WordType<TlsClientUser>(("off", TlsClientUser.Off), ("CN", TlsClientUser.CommonName)),
            o => o.Tls.AuthClientsUser, (o, v) => o.Tls.AuthClientsUser = v)
        {
            Summary = "the user of a client: the one that the CN of its certificate names", Change = OptionChange.Live,
        },
        new Option<string>("tls-protocols", new TlsVersionsType(), o => o.Tls.Protocols, (o, v) => o.Tls.Protocols = v)
        {
            Summary = "versions that are spoken; both if empty", Change = OptionChange.Live,
        },
        new Option<string>("tls-ciphers", new CipherListType(newest: false), o => o.Tls.Ciphers,
            (o, v) => o.Tls.Ciphers = v)
        {
            Summary = "cipher suites of TLS 1.2, between colons", Change = OptionChange.Live,
        },
        new Option<string>("tls-ciphersuites", new CipherListType(newest: true), o => o.Tls.CipherSuites,
            (o, v) => o.Tls.CipherSuites = v)
        {
            Summary = "cipher suites of TLS 1.3, between colons", Change = OptionChange.Live,
        },
        new Option<bool>("tls-session-caching", YesNoType.Instance, o => o.Tls.SessionCaching,
            (o, v) => o.Tls.SessionCaching = v)
        {
            Summary = "let clients that come again go on with their session", Change = OptionChange.Live,
        },
    ];
}
