using System.Text;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;

namespace Kv.Tests.Http;

/// <summary>A real browser without a screen, with a profile of its own.</summary>
internal sealed partial class Browser : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("kv-browser").FullName;

    /// <summary>What a page is when its scripts have run for some seconds.</summary>
    public string Dom(string address)
    {
        string[] quiet =
        [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", $"--user-data-dir={Path.Combine(_folder, "profile")}",
        ];
        var run = ChildProcess.Run(Requires.Browser(),
            [.. quiet, "--virtual-time-budget=4000", "--window-size=1400,1000", "--dump-dom", address],
            timeoutMs: 180_000);
        Assert.True(run.Output.Contains("</html>", StringComparison.Ordinal), run.Errors + run.Output);
        return Encoding.UTF8.GetString(Encoding.Latin1.GetBytes(run.Output));
    }

    /// <summary>The same of a text.</summary>
    /// <param name="files">Further files beside it, by name.</param>
    public string DomOf(string html, params (string Name, string Text)[] files)
    {
        foreach (var (name, text) in files) File.WriteAllText(Path.Combine(_folder, name), text);
        string page = Path.Combine(_folder, "page.html");
        File.WriteAllText(page, html);
        return Dom("file://" + page);
    }

    /// <summary>What an element with an attribute shows, and its title; dashes where there is none.</summary>
    public static (string Text, string Title) Shown(string dom, string attribute, string value)
    {
        var found = Element(attribute, value).Match(dom);
        return !found.Success ? ("-", "-")
            : (found.Groups["text"].Value, TitleOf().Match(found.Groups["tag"].Value).Groups["title"].Value);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static Regex Element(string attribute, string value) =>
        new($"<(?<tag>[a-z]+ [^>]*{attribute}=\"{Regex.Escape(value)}\"[^>]*)>(?<text>[^<]*)<",
            RegexOptions.CultureInvariant);

    [GeneratedRegex("title=\"(?<title>[^\"]*)\"")]
    private static partial Regex TitleOf();
}
