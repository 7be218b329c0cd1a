using System.Text;
using Kv.Server;
using Kv.Server.Configuration;

namespace Kv.Tests.Embedding;

/// <summary>The second program of docs/embedding.md.</summary>
internal static class EmbeddedConnection
{
    public static async Task RunAsync(TextWriter output)
    {
        // begin
        await using var server = await KvServer.StartAsync(new ServerOptions { Port = 0, Bind = ["127.0.0.1"] });
        await using var stream = server.Connect();

        await stream.WriteAsync("SET greeting hello\r\nGET greeting\r\nQUIT\r\n"u8.ToArray());
        using var reader = new StreamReader(stream, Encoding.Latin1);
        output.WriteLine((await reader.ReadToEndAsync()).Replace("\r\n", " "));
        // end
    }
}
