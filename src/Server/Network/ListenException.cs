namespace Kv.Server.Network;

/// <summary>The server cannot listen where it was told to. The message says where, and why.</summary>
public sealed class ListenException(string message, bool addressInUse, int port, Exception? inner = null)
    : Exception(message, inner)
{
    /// <summary>Whether another socket has the address.</summary>
    public bool AddressInUse { get; } = addressInUse;

    /// <summary>The TCP port, 0 for a unix socket.</summary>
    public int Port { get; } = port;
}
