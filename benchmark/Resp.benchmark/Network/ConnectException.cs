namespace RespBenchmark.Network;

/// <summary>No connection came about.</summary>
/// <param name="address">host:port, or the socket's path.</param>
/// <param name="reason">As the system says it: Connection refused.</param>
internal sealed class ConnectException(string address, string reason)
    : Exception($"could not connect to {address}: {reason}")
{
    public string Address { get; } = address;

    public string Reason { get; } = reason;
}
