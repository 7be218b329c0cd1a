namespace Kv.Storage;

/// <summary>Is shown fields of a hash.</summary>
internal interface IFieldVisit
{
    /// <param name="field">Its name, valid during the call.</param>
    void Visit(ReadOnlySpan<byte> field);
}
