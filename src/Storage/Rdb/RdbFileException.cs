namespace Kv.Storage;

/// <summary>An RDB file cannot be read, or cannot be written; the message says where, why and what to do.</summary>
public sealed class RdbFileException(string message) : IOException(message);
