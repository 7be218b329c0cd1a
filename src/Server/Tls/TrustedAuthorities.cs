using System.Diagnostics;
using System.Security.Cryptography.X509Certificates;
using Kv.Server.Configuration;

namespace Kv.Server.Tls;

/// <summary>Reads the authorities whose certificates clients may show.</summary>
internal static class TrustedAuthorities
{
    /// <summary>How a client's certificate is checked; null when clients are not asked for one.</summary>
    /// <exception cref="TlsFileException">A file is missing or wrong, or no authority is named.</exception>
    public static X509ChainPolicy? Read(TlsOptions options)
    {
        bool asks = options.AuthClients != TlsAuthClients.No;
        if (asks && options.CaCertFile.Length == 0 && options.CaCertDir.Length == 0)
            throw new TlsFileException("neither tls-ca-cert-file nor tls-ca-cert-dir is set, and clients have to show "
                + "certificates; set one of them, or tls-auth-clients no");
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
            DisableCertificateDownloads = true,     // nothing is asked of the network because of a client
        };
        if (options.CaCertFile.Length > 0)
            new TlsFile("tls-ca-cert-file", options.CaCertFile).AddCertificates(policy.CustomTrustStore);
        if (options.CaCertDir.Length > 0) AddFolder(options.CaCertDir, policy.CustomTrustStore);
        Debug.Assert(!asks || policy.CustomTrustStore.Count > 0, "clients are judged by somebody");
        return asks ? policy : null;        // what is named has to be right all the same
    }

    /// <summary>The files of a folder, in order; none if it cannot be listed.</summary>
    public static string[] FilesOf(string folder)
    {
        try
        {
            return [.. Directory.GetFiles(folder).Order(StringComparer.Ordinal)];
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    private static void AddFolder(string folder, X509Certificate2Collection authorities)
    {
        int before = authorities.Count;
        foreach (string path in FilesOf(folder))
        {
            try
            {
                new TlsFile("tls-ca-cert-dir", path).AddCertificates(authorities);
            }
            catch (TlsFileException)
            {
                // A folder may have other files, too.
            }
        }

        if (authorities.Count == before)
            throw new TlsFile("tls-ca-cert-dir", folder).Fail("there is no certificate that can be read in that folder",
                "give a folder with PEM files");
    }
}
