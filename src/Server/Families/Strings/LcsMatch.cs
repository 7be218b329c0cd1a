namespace Kv.Server.Families;

/// <summary>A run of bytes that both strings have, and its place in each.</summary>
internal readonly record struct LcsMatch(int First, int Second, int Length);
