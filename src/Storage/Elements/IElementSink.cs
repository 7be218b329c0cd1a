namespace Kv.Storage;

/// <summary>Takes elements of a list, or members of a set.</summary>
internal interface IElementSink
{
    /// <param name="element">Valid during the call.</param>
    void Write(ReadOnlySpan<byte> element);
}
