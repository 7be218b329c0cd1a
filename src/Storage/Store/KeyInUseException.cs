namespace Kv.Storage;

/// <summary>A key is needed that work in steps holds, or a place for such work, or that a snapshot has yet to keep: the
/// command is to come again in a later turn, rather than to do much at once in this one. Nothing of it was
/// done.</summary>
/// <param name="use">The work in steps, where it is known: until that is done the command need not be tried.</param>
/// <param name="isOfOthers">Whether a thread of its own does that work, so that there is no hurry to come
/// again.</param>
internal sealed class KeyInUseException(HeldUse? use = null, bool isOfOthers = false)
    : Exception("Work in steps comes first.")
{
    public HeldUse? Use => use;

    public bool IsOfOthers => isOfOthers;
}
