using System.Net;

namespace RespBenchmark.Network;

/// <summary>A server and how its connections begin.</summary>
internal sealed record Target
{
    /// <summary>What reports call it.</summary>
    public string Name { get; init; } = "A";

    public string Host { get; init; } = "127.0.0.1";

    public int Port { get; init; } = 6379;

    /// <summary>A unix socket; wins over host and port.</summary>
    public string? UnixPath { get; init; }

    public string? User { get; init; }

    public string? Password { get; init; }

    public int Database { get; init; }

    /// <summary>3: HELLO 3 is sent first.</summary>
    public int RespVersion { get; init; } = 2;

    /// <summary>CLIENT TRACKING on, after the rest.</summary>
    public bool Tracking { get; init; }

    /// <summary>The local address to connect from; null: the system's choice.</summary>
    public IPAddress? From { get; init; }

    /// <summary>Null: plain bytes.</summary>
    public TlsOptions? Tls { get; init; }

    /// <summary>host:port, or the socket's path.</summary>
    public string Address => UnixPath ?? $"{Host}:{Port}";
}

/// <summary>How a connection is secured. Files are PEM, the client's certificate PEM with a key file, or PFX with a
/// password.</summary>
internal sealed record TlsOptions
{
    /// <summary>The name the server's certificate is checked for, and sent as SNI; null: the host.</summary>
    public string? ServerName { get; init; }

    public bool Insecure { get; init; }

    public string? CaFile { get; init; }

    public string? CaFolder { get; init; }

    public string? CertificateFile { get; init; }

    public string? KeyFile { get; init; }

    public string? CertificatePassword { get; init; }

    public string? Ciphers { get; init; }

    public string? CipherSuites { get; init; }
}
