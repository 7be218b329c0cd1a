namespace Kv.Storage;

/// <summary>Sees the records of a bucket, or a random record.</summary>
public interface IRecordVisit
{
    /// <summary>One live, unexpired record. The value may be torn: a copy
    /// is all that its bytes are good for. The key's bytes are stable.</summary>
    void Visit(ReadOnlySpan<byte> key, in ValueView value);
}
