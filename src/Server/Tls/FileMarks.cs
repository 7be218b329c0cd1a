using System.Globalization;
using System.Text;
using Kv.Server.Configuration;

namespace Kv.Server.Tls;

/// <summary>Place, length and time of the files that TLS was set up from: whether one of them has changed.</summary>
internal static class FileMarks
{
    /// <summary>A text that is another one when a file is.</summary>
    public static string Read(TlsOptions options)
    {
        var text = new StringBuilder();
        Append(text, options.CertFile);
        Append(text, options.KeyFile);
        Append(text, options.CaCertFile);
        if (options.CaCertDir.Length > 0)
            foreach (string path in TrustedAuthorities.FilesOf(options.CaCertDir)) Append(text, path);
        return text.ToString();
    }

    private static void Append(StringBuilder text, string path)
    {
        if (path.Length == 0) return;
        text.Append(path).Append('|');
        try
        {
            // Where secrets are mounted the name is a link into a folder that is a link, and that one is replaced.
            var file = File.ResolveLinkTarget(path, returnFinalTarget: true) as FileInfo ?? new FileInfo(path);
            for (var folder = file.Directory; folder != null; folder = folder.Parent)
                text.Append(folder.ResolveLinkTarget(returnFinalTarget: true)?.FullName);
            if (file.Exists)
                text.Append(CultureInfo.InvariantCulture, $"{file.FullName}|{file.LastWriteTimeUtc.Ticks}|")
                    .Append(CultureInfo.InvariantCulture, $"{file.Length};");
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            text.Append("unreadable;");
        }
    }
}
