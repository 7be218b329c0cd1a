namespace RespBenchmark.Garnet;

/// <summary>The client libraries that Garnet's tool can drive. All but <see cref="SERedis"/> are our engine; only the
/// text differs.</summary>
internal enum GarnetClient
{
    LightClient,
    GarnetClientSession,
    GarnetClient,

    /// <summary>StackExchange.Redis, online mode only: what an application sees.</summary>
    SERedis,
}
