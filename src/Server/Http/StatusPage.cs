using System.Security.Cryptography;
using System.Text;

namespace Kv.Server.Http;

/// <summary>The web page: one file without references to others, joined of those in <c>Page</c>.</summary>
/// <remarks>It holds no figures; its script asks for <see cref="Reports.StatusReport"/>. The policy in its head allows
/// this style and this script by their hashes, questions to this server, and nothing else.</remarks>
internal static class StatusPage
{
    private static readonly string Style = Read("page.css"), Script = Read("drawing.js") + Read("page.js");

    private static readonly byte[] Body = Encoding.UTF8.GetBytes(Read("page.html")
        .Replace("/*css*/", Style, StringComparison.Ordinal).Replace("/*js*/", Script, StringComparison.Ordinal));

    private static readonly byte[] Head = HttpReply.Head("200 OK", "text/html; charset=utf-8", Body.Length,
        "Content-Security-Policy: default-src 'none'; "
        + $"style-src '{HashOf(Style)}'; script-src '{HashOf(Script)}'; connect-src 'self'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer");

    /// <summary>The whole reply.</summary>
    public static byte[] Reply(bool isHead) => isHead ? Head : [.. Head, .. Body];

    private static string HashOf(string text) =>
        "sha256-" + Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(text)));

    private static string Read(string file)
    {
        using var stream = typeof(StatusPage).Assembly.GetManifestResourceStream($"Kv.Server.Page.{file}")!;
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd().ReplaceLineEndings("\n");
    }
}
