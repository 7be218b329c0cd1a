namespace Kv.Storage;

/// <summary>Sees the records of a bucket, or a random record.</summary>
public interface IRecordVisit
{
    /// <summary>Sees one live, unexpired record. The key's bytes are stable; the value may be torn, so its bytes may be
    /// copied and no more.</summary>
    void Visit(ReadOnlySpan<byte> key, in ValueView value);
}
