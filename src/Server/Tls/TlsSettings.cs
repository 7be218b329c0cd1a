using System.Diagnostics;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Kv.Server.Configuration;

namespace Kv.Server.Tls;

/// <summary>All that handshakes go by, read and checked: certificates, versions, cipher suites.</summary>
/// <remarks>Threads: immutable. A handshake goes by the settings that it began with.</remarks>
internal sealed class TlsSettings
{
    private readonly SslStreamCertificateContext _certificate;
    private readonly X509ChainPolicy? _authorities;
    private readonly CipherSuitesPolicy? _ciphers;
    private readonly SslProtocols _versions;
    private readonly TlsAuthClients _authClients;
    private readonly bool _sessionCaching;

    /// <summary>Reads the files that the options name.</summary>
    /// <exception cref="TlsFileException">Something is missing or wrong.</exception>
    public TlsSettings(TlsOptions options)
    {
        _certificate = ServerCertificate.Read(options);
        _authorities = TrustedAuthorities.Read(options);
        _ciphers = Ciphers(options);
        if (TlsVersionsType.Has(options.Protocols, TlsVersionsType.Tls12)) _versions |= SslProtocols.Tls12;
        if (TlsVersionsType.Has(options.Protocols, TlsVersionsType.Tls13)) _versions |= SslProtocols.Tls13;
        Debug.Assert(_versions != SslProtocols.None, "None would be what the system likes");
        _authClients = options.AuthClients;
        _sessionCaching = options.SessionCaching;
        ClientUser = options.AuthClientsUser;
    }

    /// <summary>What of a client's certificate says which user it is.</summary>
    public TlsClientUser ClientUser { get; }

    public X509Certificate2 Certificate => _certificate.TargetCertificate;

    /// <summary>What <see cref="SslStream"/> is given for one connection.</summary>
    /// <param name="refused">Called with the reason when the client's certificate is not accepted.</param>
    // Made anew for each connection: a policy gathers the certificates that its client sends. The certificate's context
    // is shared, and with it the system's, which has the tickets of sessions.
    public SslServerAuthenticationOptions ForConnection(Action<string> refused) => new()
    {
        ServerCertificateContext = _certificate,
        EnabledSslProtocols = _versions,
        ClientCertificateRequired = _authClients != TlsAuthClients.No,
        CertificateRevocationCheckMode = X509RevocationMode.NoCheck,
        CertificateChainPolicy = _authorities?.Clone(),
        RemoteCertificateValidationCallback = (_, certificate, chain, errors) =>
            Accepts(certificate, chain, errors, refused),
        CipherSuitesPolicy = _ciphers,
        AllowRenegotiation = false,
        AllowTlsResume = _sessionCaching,
    };

    private bool Accepts(X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors,
        Action<string> refused)
    {
        if (_authClients == TlsAuthClients.No) return true;
        if (certificate == null)
        {
            if (_authClients == TlsAuthClients.Optional) return true;
            refused("it showed no certificate");
            return false;
        }

        if (errors == SslPolicyErrors.None) return true;
        var reasons = chain?.ChainStatus.Select(status => $"{status.Status}") ?? [];
        refused($"its certificate is not accepted ({string.Join(", ", reasons.DefaultIfEmpty($"{errors}"))})");
        return false;
    }

    /// <summary>Null for those of .NET. A list that is not given restricts nothing of its version.</summary>
    private static CipherSuitesPolicy? Ciphers(TlsOptions options)
    {
        if (options.Ciphers.Length == 0 && options.CipherSuites.Length == 0) return null;
        if (OperatingSystem.IsWindows())
            throw new TlsFileException("tls-ciphers and tls-ciphersuites cannot be set on this system; leave them "
                + "empty");
        return new CipherSuitesPolicy(
        [
            .. options.CipherSuites.Length > 0 ? CipherListType.Read(options.CipherSuites, newest: true)
                : CipherNames.OfTls13,
            .. options.Ciphers.Length > 0 ? CipherListType.Read(options.Ciphers, newest: false)
                : CipherNames.OfTls12,
        ]);
    }
}
