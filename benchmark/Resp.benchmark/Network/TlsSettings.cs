using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace RespBenchmark.Network;

/// <summary>Turns the files and names of <see cref="TlsOptions"/> into what a secured stream needs.</summary>
internal static class TlsSettings
{
    /// <exception cref="ConnectException">A file cannot be read, or a cipher is unknown.</exception>
    public static SslClientAuthenticationOptions Read(TlsOptions options, Target target)
    {
        try
        {
            return Build(options, target.Host);
        }
        catch (Exception error) when (error is IOException or CryptographicException or UnauthorizedAccessException)
        {
            throw new ConnectException(target.Address, error.Message);
        }
        catch (ArgumentException error)
        {
            throw new ConnectException(target.Address, error.Message);
        }
    }

    private static SslClientAuthenticationOptions Build(TlsOptions options, string host)
    {
        var settings = new SslClientAuthenticationOptions { TargetHost = options.ServerName ?? host };
        if (options.Insecure) settings.RemoteCertificateValidationCallback = (_, _, _, _) => true;
        X509Certificate2Collection roots = Roots(options);
        if (roots.Count > 0)
        {
            settings.CertificateChainPolicy = new X509ChainPolicy
            {
                TrustMode = X509ChainTrustMode.CustomRootTrust,
                RevocationMode = X509RevocationMode.NoCheck,
            };
            settings.CertificateChainPolicy.CustomTrustStore.AddRange(roots);
        }

        if (options.CertificateFile is { } file) settings.ClientCertificates = [Certificate(file, options)];
        if ((options.Ciphers ?? options.CipherSuites) is not null && !OperatingSystem.IsWindows())
        {
            // The one list is of TLS 1.2 and before, the other of TLS 1.3; a list that is not given restricts nothing
            // of its own.
            settings.CipherSuitesPolicy = new CipherSuitesPolicy(
            [
                .. options.CipherSuites is { } suites ? CipherNames.Read(suites) : CipherNames.Newest,
                .. options.Ciphers is { } ciphers ? CipherNames.Read(ciphers) : [],
            ]);
        }

        return settings;
    }

    private static X509Certificate2Collection Roots(TlsOptions options)
    {
        var roots = new X509Certificate2Collection();
        if (options.CaFile is { } file) roots.ImportFromPemFile(file);
        if (options.CaFolder is { } folder)
        {
            foreach (string each in Directory.EnumerateFiles(folder)
                .Where(name => Path.GetExtension(name) is ".pem" or ".crt" or ".cer"))
                roots.ImportFromPemFile(each);
        }

        return roots;
    }

    private static X509Certificate2 Certificate(string file, TlsOptions options)
    {
        if (options.KeyFile is { } key) return X509Certificate2.CreateFromPemFile(file, key);
        return Path.GetExtension(file) is ".pfx" or ".p12"
            ? X509CertificateLoader.LoadPkcs12FromFile(file, options.CertificatePassword)
            : X509Certificate2.CreateFromPemFile(file);
    }
}
