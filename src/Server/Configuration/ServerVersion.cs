using System.Reflection;

namespace Kv.Server.Configuration;

/// <summary>The two versions this server has: the one that clients switch features on, and its own.</summary>
public static class ServerVersion
{
    /// <summary>The version in INFO, HELLO and LOLWUT. Raised only when the command set warrants it.</summary>
    public const string RedisVersion = "7.4.0";

    /// <summary><see cref="RedisVersion"/> as a number, with a byte for each part.</summary>
    public const int RedisVersionNumber = 0x00070400;

    /// <summary>The version of this program, as built.</summary>
    public static string KvVersion { get; } = OwnVersion();

    private static string OwnVersion()
    {
        var assembly = typeof(ServerVersion).Assembly;
        var text = assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
            ?? assembly.GetName().Version?.ToString(3) ?? "0.0.0";
        int build = text.IndexOf('+', StringComparison.Ordinal);    // "0.1.0+<commit>"
        return build < 0 ? text : text[..build];
    }
}
