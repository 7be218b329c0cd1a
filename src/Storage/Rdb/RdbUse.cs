namespace Kv.Storage;

/// <summary>How much a key was used, as RDB files say it: for policies that go by either.</summary>
/// <param name="Frequency">Of 255; null: not said.</param>
/// <param name="IdleSeconds">Since it was last used; null: not said.</param>
internal readonly record struct RdbUse(int? Frequency, long? IdleSeconds);
