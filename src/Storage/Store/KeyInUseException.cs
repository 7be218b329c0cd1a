namespace Kv.Storage;

/// <summary>A key is needed that work in steps holds, or a place for such work, or that a snapshot has yet to keep: the
/// command is to come again in a later turn, rather than to do much at once in this one. Nothing of it was
/// done.</summary>
/// <param name="work">What has the key or the place, where it is known.</param>
/// <param name="isOfOthers">Whether a thread of its own does that work, so that there is no hurry to come
/// again.</param>
internal sealed class KeyInUseException(IAwaitedWork? work = null, bool isOfOthers = false)
    : Exception("Work in steps comes first.")
{
    public IAwaitedWork? Work => work;

    public bool IsOfOthers => isOfOthers;
}
