namespace Kv.Server.Configuration;

/// <summary>What of a client's certificate is the name of its user.</summary>
public enum TlsClientUser
{
    /// <summary>Nothing.</summary>
    Off,

    /// <summary>The common name (CN) of its subject.</summary>
    CommonName,
}
