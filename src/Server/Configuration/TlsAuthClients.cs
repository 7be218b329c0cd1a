namespace Kv.Server.Configuration;

/// <summary>Whether clients over TLS have to show a certificate.</summary>
public enum TlsAuthClients
{
    /// <summary>They are not asked for one.</summary>
    No,

    /// <summary>Without a valid one the connection is closed.</summary>
    Yes,

    /// <summary>They may have none; one that is shown has to be valid.</summary>
    Optional,
}
