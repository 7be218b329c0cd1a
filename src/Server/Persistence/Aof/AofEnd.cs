namespace Kv.Server.Persistence.Aof;

/// <summary>Where an increment ends, so that it can be gone on with.</summary>
/// <param name="Sum">That of all its commands.</param>
internal readonly record struct AofEnd(AofFileInfo File, long Length, uint Sum);
