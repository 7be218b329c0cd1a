namespace Kv.Server.Configuration;

/// <summary>What is set about TLS: a port of its own beside that of plain TCP, certificates, and who has to show
/// one.</summary>
/// <remarks>
/// Threads: as <see cref="ServerOptions"/>: each property is a word or a reference to something immutable, written
/// under the options' lock for changes. What belongs together (a certificate and its key) is read under that lock.
/// </remarks>
public sealed class TlsOptions
{
    /// <summary>The port for TLS, on the addresses of <see cref="ServerOptions.Bind"/>; 0 for none. With it
    /// <see cref="ServerOptions.Port"/> may be 0: then nothing is served in clear but a unix socket.</summary>
    public int Port { get; set; }

    /// <summary>The server's certificate: a PEM file, with those between it and its authority behind it, or a PFX
    /// file.</summary>
    public string CertFile { get; set; } = "";

    /// <summary>The PEM file of its private key; empty when that is in <see cref="CertFile"/>.</summary>
    public string KeyFile { get; set; } = "";

    /// <summary>The password of the key, or of the PFX file; empty for none.</summary>
    public string KeyFilePass { get; set; } = "";

    /// <summary>A PEM file of the authorities whose clients are trusted; empty for none.</summary>
    public string CaCertFile { get; set; } = "";

    /// <summary>A folder of such files; empty for none.</summary>
    public string CaCertDir { get; set; } = "";

    /// <summary>Whether clients have to show a certificate.</summary>
    public TlsAuthClients AuthClients { get; set; } = TlsAuthClients.Yes;

    /// <summary>Whether a client's certificate says which user it is.</summary>
    public TlsClientUser AuthClientsUser { get; set; } = TlsClientUser.Off;

    /// <summary>The versions that are spoken, of TLSv1.2 and TLSv1.3; empty for both.</summary>
    public string Protocols { get; set; } = "";

    /// <summary>The cipher suites of TLS 1.2, divided by colons; empty for those of .NET.</summary>
    public string Ciphers { get; set; } = "";

    /// <summary>The cipher suites of TLS 1.3, divided by colons; empty for all.</summary>
    public string CipherSuites { get; set; } = "";

    /// <summary>Whether a client that comes again may go on with the session of before, which spares it most of the
    /// handshake.</summary>
    public bool SessionCaching { get; set; } = true;

    internal TlsOptions Copy() => (TlsOptions)MemberwiseClone();
}
