using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Kv.Tests.Tls;

/// <summary>Files of certificates and keys, gone when disposed.</summary>
internal sealed class CertificateFolder : IDisposable
{
    public CertificateFolder()
    {
        Write("ca.crt", Authority.Certificate.ExportCertificatePem());
        Put("server", Authority.Issue("server"));
    }

    public string Folder { get; } = Directory.CreateTempSubdirectory("kv-tls-").FullName;

    public TestAuthority Authority { get; } = new();

    public string this[string name] => Path.Combine(Folder, name);

    /// <summary>Options of a server that uses "server.crt" and "server.key" and trusts "ca.crt".</summary>
    public string[] Options =>
    [
        "--tls-cert-file", this["server.crt"], "--tls-key-file", this["server.key"],
        "--tls-ca-cert-file", this["ca.crt"],
    ];

    public string Write(string name, string text)
    {
        File.WriteAllText(this[name], text);
        return this[name];
    }

    /// <summary>Writes a certificate and its key: name.crt and name.key.</summary>
    public X509Certificate2 Put(string name, X509Certificate2 certificate)
    {
        // The key first: who looks in between finds the old certificate with a key that is not its own.
        Write($"{name}.key", KeyOf(certificate).ExportPkcs8PrivateKeyPem());
        Write($"{name}.crt", certificate.ExportCertificatePem());
        return certificate;
    }

    public static AsymmetricAlgorithm KeyOf(X509Certificate2 certificate) =>
        certificate.GetRSAPrivateKey() is { } rsa ? rsa : certificate.GetECDsaPrivateKey()!;

    public void Dispose()
    {
        Authority.Dispose();
        Directory.Delete(Folder, recursive: true);
    }
}
