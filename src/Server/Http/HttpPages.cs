using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Reports;

namespace Kv.Server.Http;

/// <summary>What the server shows by HTTP: /metrics, /healthz, /readyz, and the web page with its figures.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class HttpPages(KvServer server)
{
    /// <summary>Pages that are made at once; each takes a thread of the pool for about a millisecond.</summary>
    private const int AtOnceMax = 4;

    private int _making;

    /// <summary>Who is shown the web page.</summary>
    public HttpGate Gate { get; } = new(server);

    /// <summary>Decides what a request gets.</summary>
    public HttpAnswer Answer(in HttpRequestLine request, in HttpCaller caller)
    {
        if (request.Method is not ("GET" or "HEAD"))
            return new(HttpReply.Text("405 Method Not Allowed", "Only GET and HEAD.\n", header: "Allow: GET, HEAD"));
        switch (request.Path)
        {
            case "/healthz":
                return new(HttpReply.Text("200 OK", "ok\n", request.IsHead));
            case "/readyz":
                string? reason = server.WhyNotReady;
                return new(HttpReply.Text(reason == null ? "200 OK" : "503 Service Unavailable",
                    $"{reason ?? "ready"}\n", request.IsHead));
            case "/metrics" when !caller.MayReadFigures:
                return new(HttpReply.Text("403 Forbidden",
                    "Figures are not for everybody here (requirepass, ACL): metrics-port shows them.\n",
                    request.IsHead));
            case "/metrics":
                return OfMade(request.IsHead, PrometheusText.ContentType, page => PrometheusText.Write(server, page));
            case "/" or "/status.json":
                if (Gate.Admit(caller, request.IsHead, out var parts) is { } refusal) return refusal;
                return request.Path == "/" ? new(StatusPage.Reply(request.IsHead))
                    : OfMade(request.IsHead, StatusReport.ContentType, page => StatusReport.Write(server, parts, page));
            default:
                return new(HttpReply.Text("404 Not Found",
                    "There are /, /status.json, /metrics, /healthz and /readyz.\n", request.IsHead));
        }
    }

    /// <inheritdoc cref="HttpOnPort.TryAnswer"/>
    public bool TryAnswer(ref CommandContext context, ReadOnlySpan<byte> input) =>
        HttpOnPort.TryAnswer(ref context, input);

    private HttpAnswer OfMade(bool isHead, string contentType, Action<PageBuffer> write) => isHead
        ? new(HttpReply.Head("200 OK", contentType, null)) : new(null, page => Make(page, contentType, write));

    /// <summary>Makes a page.</summary>
    /// <param name="page">Empty; gets the page, or nothing.</param>
    /// <returns>The head of the reply.</returns>
    private byte[] Make(PageBuffer page, string contentType, Action<PageBuffer> write)
    {
        Debug.Assert(page.Length == 0, "a page is written from its beginning");
        // Interlocked: each is counted before it begins.
        try
        {
            if (Interlocked.Increment(ref _making) > AtOnceMax)
                return HttpReply.Text("503 Service Unavailable", "Too many ask at once.\n", header: "Retry-After: 1");
            write(page);
            return HttpReply.Head("200 OK", contentType, page.Length);
        }
        finally
        {
            int left = Interlocked.Decrement(ref _making);
            Debug.Assert(left >= 0, "each that ends has begun");
        }
    }
}
