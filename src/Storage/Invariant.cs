namespace Kv.Storage;

/// <summary>Checks that stay on in release builds: what would otherwise corrupt data ends the process.</summary>
internal static class Invariant
{
    public static void Check(bool holds, string what)
    {
        if (!holds) Environment.FailFast($"Kv: broken invariant: {what}.");
    }
}
