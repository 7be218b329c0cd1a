using System.Diagnostics;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Kv.Server.Configuration;

namespace Kv.Server.Tls;

/// <summary>A file that an option of TLS names: reads it, and says what is wrong with it.</summary>
/// <param name="option">The option's name.</param>
/// <param name="path">What it is set to.</param>
internal sealed class TlsFile(string option, string path)
{
    /// <summary>No certificate, key or bundle of authorities is nearly as long.</summary>
    private const int BytesMax = 4 << 20;

    /// <summary>The file's bytes.</summary>
    /// <exception cref="TlsFileException">It cannot be read.</exception>
    public byte[] Read()
    {
        try
        {
            using var file = RegularFile.Open(path);
            if (file.Length == 0) throw Fail("the file is empty, or a device", "name another one");
            if (file.Length > BytesMax) throw Fail($"the file is longer than {BytesMax} bytes", "name another one");
            byte[] bytes = new byte[file.Length];
            Debug.Assert(bytes.Length is > 0 and <= BytesMax, "its length was looked at");
            int count = file.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
            return bytes[..count];
        }
        catch (Exception exception) when (exception is FileNotFoundException or DirectoryNotFoundException)
        {
            throw Fail("no such file", "give the path of a file that is there", exception);
        }
        catch (UnauthorizedAccessException exception)
        {
            throw Fail("permission denied", "let the user that runs the server read the file", exception);
        }
        catch (Exception exception) when (exception is IOException or ArgumentException or NotSupportedException)
        {
            throw Fail(exception.Message, "give the path of a file that can be read", exception);
        }
    }

    /// <summary>The file's text, where it is PEM.</summary>
    public static string? AsPem(byte[] bytes) =>
        bytes.AsSpan().IndexOf("-----BEGIN "u8) >= 0 ? Encoding.Latin1.GetString(bytes) : null;

    /// <summary>Adds all certificates of the file.</summary>
    /// <returns>The text of the file.</returns>
    /// <exception cref="TlsFileException">There is none, or one is damaged.</exception>
    public string AddCertificates(X509Certificate2Collection certificates)
    {
        string text = AsPem(Read()) ?? throw Fail("that is no PEM file", "give one that begins with -----BEGIN");
        try
        {
            int before = certificates.Count;
            certificates.ImportFromPem(text);
            // .NET passes over what has no end, as the last one has none of a file that somebody is still writing.
            if (text.AsSpan().Count("-----BEGIN CERTIFICATE-----") > certificates.Count - before)
                throw Fail("a certificate in it is cut short", "wait until the file is complete, or make it anew");
            if (certificates.Count > before) return text;
        }
        catch (CryptographicException exception)
        {
            throw Fail($"a certificate in it cannot be read ({exception.Message})", "make the file anew", exception);
        }

        throw Fail("there is no certificate in it", "give a file with -----BEGIN CERTIFICATE-----");
    }

    /// <summary>The error that names this file.</summary>
    public TlsFileException Fail(string what, string remedy, Exception? inner = null) =>
        new($"{option} '{path}': {what}; {remedy}", inner);
}
