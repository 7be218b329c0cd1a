namespace Kv.Storage;

/// <summary>Takes bytes of an RDB file: the file, or what is kept for it meanwhile.</summary>
internal interface IRdbTarget
{
    /// <exception cref="IOException">They cannot be taken: the file is of no use any more.</exception>
    void Write(ReadOnlySpan<byte> bytes);
}
