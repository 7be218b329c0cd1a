using System.Net;

namespace Kv.Tests.Harness;

/// <summary>A server that tests talk to over a socket: Kv in process, Kv as a program, redis-server, or any
/// other.</summary>
public abstract class TestServer : IDisposable
{
    private string? _redisVersion;
    private bool? _isKv;

    /// <summary>What failure messages call it.</summary>
    public abstract string Name { get; }

    public abstract EndPoint EndPoint { get; }

    public int Port => ((IPEndPoint)EndPoint).Port;

    /// <summary>The address, as clients' command lines take it.</summary>
    public string Host => ((IPEndPoint)EndPoint).Address.ToString();

    /// <summary>The version it says it is compatible with.</summary>
    public Version RedisVersion => Version.Parse(_redisVersion ??= Field("redis_version"));

    public bool IsKv => _isKv ??= Field("kv_version").Length > 0;

    public abstract void Dispose();

    /// <summary>A new connection that speaks RESP2 or RESP3.</summary>
    public RespClient Connect(int resp = 2, int timeoutMs = 60_000)
    {
        var client = Open(timeoutMs);
        if (resp == 3) client.Ok("HELLO 3");
        return client;
    }

    /// <summary>A new connection.</summary>
    protected virtual RespClient Open(int timeoutMs) => new(EndPoint, timeoutMs);

    /// <summary>Waits until so many clients are left, of all that have connected before: one that the server has not
    /// accepted yet is in nobody's count.</summary>
    public void AwaitClients(int count)
    {
        // Behind all others: they are accepted in their order.
        using var last = Connect();
        Eventually.Holds(() => last.Info("connected_clients") == $"{count + 1}",
            () => $"{last.Info("connected_clients")} clients with this one, not {count + 1}");
    }

    /// <summary>Removes all keys and undoes what tests leave on a server.</summary>
    public void Clear()
    {
        using var client = Connect();
        client.Command("CLIENT UNPAUSE");
        client.Ok("FLUSHALL");
    }

    private string Field(string name)
    {
        using var client = Connect();
        try
        {
            return client.Info(name);
        }
        catch (InvalidOperationException)
        {
            return "";
        }
    }
}
