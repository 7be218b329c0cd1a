namespace Kv.Server.Sessions;

/// <summary>What clients may call themselves: CLIENT LIST stays one line a client, with fields divided by
/// spaces.</summary>
internal static class ClientText
{
    /// <summary>The longest name: CLIENT LIST has it for every client, and whoever asks for it pays.</summary>
    public const int BytesMax = 128;

    /// <summary>Whether it has printable ASCII only, without spaces. Empty is allowed: it takes the name
    /// away.</summary>
    public static bool IsAllowed(ReadOnlySpan<byte> text) => !text.ContainsAnyExceptInRange((byte)'!', (byte)'~');

    /// <summary>A copy to keep, null for none.</summary>
    public static byte[]? Keep(ReadOnlySpan<byte> text) => text.IsEmpty ? null : text.ToArray();
}
