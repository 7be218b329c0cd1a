namespace Kv.Server.Persistence.Aof;

/// <summary>The append-only file cannot be read, or what is in it cannot be taken; the message says which file, where
/// in it, why and what to do.</summary>
internal sealed class AofException(string message) : IOException(message);
