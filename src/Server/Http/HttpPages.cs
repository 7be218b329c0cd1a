using Kv.Server.Execution;
using Kv.Server.Reports;

namespace Kv.Server.Http;

/// <summary>What the server shows by HTTP: /metrics, /healthz, /readyz.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class HttpPages(KvServer server)
{
    /// <summary>Pages that are made at once; each takes a thread of the pool for about a millisecond.</summary>
    private const int AtOnceMax = 4;

    private int _making;

    /// <summary>The command that shows the same figures, by whatever name.</summary>
    public Command Info => server.OwnCommands.Find("INFO"u8)!;

    /// <summary>Decides what a request gets.</summary>
    /// <param name="mayRead">Whether figures are shown, and not only whether the server is well.</param>
    /// <returns>The whole reply; null for /metrics, which is made elsewhere (<see cref="Make"/>).</returns>
    public byte[]? Answer(in HttpRequestLine request, bool mayRead)
    {
        if (request.Method is not ("GET" or "HEAD"))
            return HttpReply.Text("405 Method Not Allowed", "Only GET and HEAD.\n", header: "Allow: GET, HEAD");
        switch (request.Path)
        {
            case "/healthz":
                return HttpReply.Text("200 OK", "ok\n", request.IsHead);
            case "/readyz":
                string? reason = server.WhyNotReady;
                return HttpReply.Text(reason == null ? "200 OK" : "503 Service Unavailable", $"{reason ?? "ready"}\n",
                    request.IsHead);
            case "/metrics" when !mayRead:
                return HttpReply.Text("403 Forbidden",
                    "Figures are not for everybody here (requirepass, ACL): metrics-port shows them.\n",
                    request.IsHead);
            case "/metrics":
                return request.IsHead ? HttpReply.Head("200 OK", PrometheusText.ContentType, null) : null;
            default:
                return HttpReply.Text("404 Not Found", "There are /metrics, /healthz and /readyz.\n", request.IsHead);
        }
    }

    /// <inheritdoc cref="HttpOnPort.TryAnswer"/>
    public bool TryAnswer(ref CommandContext context) => HttpOnPort.TryAnswer(ref context);

    /// <summary>Makes the page of /metrics.</summary>
    /// <param name="page">Empty; gets the page, or nothing.</param>
    /// <returns>The head of the reply.</returns>
    public byte[] Make(PageBuffer page)
    {
        // Interlocked: each is counted before it begins.
        try
        {
            if (Interlocked.Increment(ref _making) > AtOnceMax)
                return HttpReply.Text("503 Service Unavailable", "Too many ask at once.\n", header: "Retry-After: 1");
            PrometheusText.Write(server, page);
            return HttpReply.Head("200 OK", PrometheusText.ContentType, page.Length);
        }
        finally
        {
            Interlocked.Decrement(ref _making);
        }
    }
}
