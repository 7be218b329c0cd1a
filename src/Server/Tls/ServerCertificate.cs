using System.Diagnostics;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Kv.Server.Configuration;

namespace Kv.Server.Tls;

/// <summary>Reads the server's own certificate with its key and those between it and its authority.</summary>
internal static class ServerCertificate
{
    /// <exception cref="TlsFileException">A file is missing or wrong, or the key is another certificate's.</exception>
    public static SslStreamCertificateContext Read(TlsOptions options)
    {
        if (options.CertFile.Length == 0)
            throw new TlsFileException("tls-cert-file is not set; give the server's certificate, a PEM or PFX file");
        var file = new TlsFile("tls-cert-file", options.CertFile);
        byte[] bytes = file.Read();
        var others = new X509Certificate2Collection();
        var own = TlsFile.AsPem(bytes) is { } text ? ReadPem(options, file, text, others)
            : ReadPfx(options, file, bytes, others);
        Debug.Assert(own.HasPrivateKey && !others.Contains(own), "it is the one that the server has the key of");
        try
        {
            // Offline: nothing is asked of the network for it.
            return SslStreamCertificateContext.Create(own, others, offline: true);
        }
        catch (Exception exception) when (exception is CryptographicException or NotSupportedException)
        {
            throw file.Fail(exception.Message, "give another certificate", exception);
        }
    }

    private static X509Certificate2 ReadPem(TlsOptions options, TlsFile file, string text,
        X509Certificate2Collection others)
    {
        file.AddCertificates(others);
        Debug.Assert(others.Count > 0, "a file without a certificate is refused");
        others.RemoveAt(0);         // the server's own, which comes first
        var keyFile = file;
        string key = text;
        if (options.KeyFile.Length > 0)
        {
            keyFile = new TlsFile("tls-key-file", options.KeyFile);
            key = TlsFile.AsPem(keyFile.Read())
                ?? throw keyFile.Fail("that is no PEM file", "give the private key as PEM");
        }

        if (!key.Contains("PRIVATE KEY-----", StringComparison.Ordinal))
            throw keyFile.Fail("there is no private key in it",
                options.KeyFile.Length > 0 ? "give a file with the certificate's private key" : "set tls-key-file");
        bool isEncrypted = key.Contains("ENCRYPTED", StringComparison.Ordinal);
        if (isEncrypted && !key.Contains("BEGIN ENCRYPTED PRIVATE KEY", StringComparison.Ordinal))
            throw keyFile.Fail("the key is encrypted in a form of old", "convert it with openssl pkcs8 -topk8");
        if (isEncrypted && options.KeyFilePass.Length == 0)
            throw keyFile.Fail("the key is encrypted", "set tls-key-file-pass");
        try
        {
            return isEncrypted ? X509Certificate2.CreateFromEncryptedPem(text, key, options.KeyFilePass)
                : X509Certificate2.CreateFromPem(text, key);
        }
        catch (Exception exception) when (exception is CryptographicException or ArgumentException)
        {
            throw keyFile.Fail(
                $"the key does not fit the certificate of tls-cert-file '{options.CertFile}' ({exception.Message})",
                isEncrypted ? "give the certificate's own private key and its tls-key-file-pass"
                    : "give the certificate's own private key", exception);
        }
    }

    private static X509Certificate2 ReadPfx(TlsOptions options, TlsFile file, byte[] bytes,
        X509Certificate2Collection others)
    {
        try
        {
            others.AddRange(X509CertificateLoader.LoadPkcs12Collection(bytes, options.KeyFilePass));
        }
        catch (CryptographicException exception)
        {
            throw file.Fail(
                $"that is neither PEM, nor PFX with the password of tls-key-file-pass ({exception.Message})",
                "give a file of one of these kinds, or its password", exception);
        }

        var own = others.FirstOrDefault(certificate => certificate.HasPrivateKey)
            ?? throw file.Fail("there is no private key in it", "export the certificate with its key");
        others.Remove(own);
        return own;
    }
}
