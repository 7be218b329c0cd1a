namespace Kv.Server.Sessions;

/// <summary>What clients may call themselves: CLIENT LIST stays one line a client, with fields divided by spaces.</summary>
internal static class ClientText
{
    /// <summary>Whether it has printable ASCII only, without spaces. Empty is allowed: it takes the name away.</summary>
    public static bool IsAllowed(ReadOnlySpan<byte> text) => !text.ContainsAnyExceptInRange((byte)'!', (byte)'~');

    /// <summary>A copy to keep, null for none.</summary>
    public static byte[]? Keep(ReadOnlySpan<byte> text) => text.IsEmpty ? null : text.ToArray();
}
