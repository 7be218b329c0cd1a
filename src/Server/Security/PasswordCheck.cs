using System.Security.Cryptography;
using System.Text;

namespace Kv.Server.Security;

/// <summary>Compares passwords in a time that reveals neither where they differ nor how long the right one
/// is.</summary>
internal static class PasswordCheck
{
    public static bool IsEqual(string password, ReadOnlySpan<byte> given)
    {
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes], givenHash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(Encoding.UTF8.GetBytes(password), hash);
        SHA256.HashData(given, givenHash);
        return CryptographicOperations.FixedTimeEquals(hash, givenHash);
    }
}
