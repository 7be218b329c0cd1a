using System.Net;
using Kv.Server;
using Kv.Server.Configuration;
using StackExchange.Redis;

namespace Kv.Tests.Embedding;

/// <summary>The first program of docs/embedding.md.</summary>
internal static class EmbeddedServer
{
    public static async Task RunAsync(TextWriter output)
    {
        // begin
        var options = new ServerOptions { Port = 0, Bind = ["127.0.0.1"], WorkerThreads = 1 };
        await using var server = await KvServer.StartAsync(options);
        await using var second = await KvServer.StartAsync(options);

        var address = (IPEndPoint)server.Endpoints[0];
        using (var client = await ConnectionMultiplexer.ConnectAsync($"{address}"))
        {
            var database = client.GetDatabase();
            await database.StringSetAsync("greeting", "hello");
            output.WriteLine(await database.StringGetAsync("greeting"));
        }

        output.WriteLine(second.Endpoints[0].Equals(address));
        // end
    }
}
