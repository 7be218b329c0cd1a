using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Kv.Tests.Tls;

/// <summary>A certification authority of a test's own.</summary>
internal sealed class TestAuthority : IDisposable
{
    /// <summary>What a certificate may be used for, where it says so.</summary>
    public const string ForServers = "1.3.6.1.5.5.7.3.1", ForClients = "1.3.6.1.5.5.7.3.2";

    private readonly RSA _key = RSA.Create(2048);
    private int _serial;

    public TestAuthority(string name = "Authority")
    {
        var request = new CertificateRequest($"CN={name}", _key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        request.CertificateExtensions.Add(new X509KeyUsageExtension(X509KeyUsageFlags.KeyCertSign, true));
        request.CertificateExtensions.Add(new X509SubjectKeyIdentifierExtension(request.PublicKey, false));
        Certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-10), DateTimeOffset.UtcNow.AddDays(10));
    }

    public X509Certificate2 Certificate { get; }

    /// <summary>A certificate with its key for a name, and for this machine.</summary>
    /// <param name="isRsa">Whether its key is of RSA; else of an elliptic curve.</param>
    /// <param name="daysLeft">Below 0: it has expired.</param>
    /// <param name="purpose">Null: it is good for any.</param>
    public X509Certificate2 Issue(string name, bool isRsa = false, int daysLeft = 5, string? purpose = null)
    {
        using var rsa = RSA.Create(2048);
        using var curve = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = isRsa
            ? new CertificateRequest($"CN={name}", rsa, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1)
            : new CertificateRequest($"CN={name}", curve, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(false, false, 0, true));
        if (purpose != null)
            request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid(purpose)], critical: false));
        byte[] serial = BitConverter.GetBytes(Interlocked.Increment(ref _serial));
        using var issued = request.Create(Certificate.SubjectName,
            X509SignatureGenerator.CreateForRSA(_key, RSASignaturePadding.Pkcs1),
            DateTimeOffset.UtcNow.AddDays(-8), DateTimeOffset.UtcNow.AddDays(daysLeft), serial);
        return isRsa ? issued.CopyWithPrivateKey(rsa) : issued.CopyWithPrivateKey(curve);
    }

    public void Dispose()
    {
        Certificate.Dispose();
        _key.Dispose();
    }
}
