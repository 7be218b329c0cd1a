using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Kv.Server.Configuration;

namespace Kv.Host;

/// <summary>The certificate of the server's options, for a probe that has to show one to the server.</summary>
internal static class OwnCertificate
{
    /// <exception cref="IOException">A file of it cannot be read.</exception>
    public static X509Certificate2 Read(TlsOptions options)
    {
        try
        {
            string text = File.ReadAllText(options.CertFile);
            if (!text.Contains("-----BEGIN ", StringComparison.Ordinal))
                return X509CertificateLoader.LoadPkcs12FromFile(options.CertFile, options.KeyFilePass);
            string key = options.KeyFile.Length > 0 ? File.ReadAllText(options.KeyFile) : text;
            return key.Contains("ENCRYPTED", StringComparison.Ordinal)
                ? X509Certificate2.CreateFromEncryptedPem(text, key, options.KeyFilePass)
                : X509Certificate2.CreateFromPem(text, key);
        }
        catch (Exception exception) when (exception is CryptographicException or UnauthorizedAccessException
            or ArgumentException)
        {
            throw new IOException($"the certificate of tls-cert-file cannot be read: {exception.Message}", exception);
        }
    }
}
