namespace Kv.Server.Diagnostics;

/// <summary>A key that was used often of late. Figures are estimates from samples.</summary>
/// <param name="Database">The number of its database, when it was used.</param>
/// <param name="Name">Its name, or what is kept of a long one.</param>
/// <param name="NameBytes">How long the name is.</param>
/// <param name="ReadsPerSecond">Commands that read it.</param>
/// <param name="WritesPerSecond">Commands that write it, or may.</param>
internal readonly record struct HotKey(int Database, byte[] Name, int NameBytes, double ReadsPerSecond,
    double WritesPerSecond)
{
    /// <summary>Whether only the beginning of the name is known.</summary>
    public bool IsCut => NameBytes > Name.Length;

    public double UsesPerSecond => ReadsPerSecond + WritesPerSecond;
}

/// <summary>The keys that were used most of late, at some moment.</summary>
/// <param name="Keys">In no order, none twice.</param>
/// <param name="UsesPerSecond">Uses of all keys, these and others.</param>
internal readonly record struct HotKeyReading(List<HotKey> Keys, double UsesPerSecond)
{
    /// <summary>How much of all uses are of one key, 0 to 1.</summary>
    public double ShareOf(double usesPerSecond) => UsesPerSecond > 0 ? Math.Min(1, usesPerSecond / UsesPerSecond) : 0;
}
