namespace Kv.Storage;

/// <summary>Takes what it needs from one element: the value of a field, the element of a list. A struct of the
/// caller's.</summary>
public interface IElementRead
{
    /// <summary> Sees the element where it lies. Runs again, from scratch, when a writer came in between: so it only
    /// sets its own fields. The bytes may be torn until the operation has returned <see cref="StoreStatus.Ok"/>; the
    /// span is void after the call.
    /// </summary>
    /// <param name="element">All bytes of it.</param>
    void Read(ReadOnlySpan<byte> element);
}
