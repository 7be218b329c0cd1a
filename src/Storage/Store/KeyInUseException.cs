namespace Kv.Storage;

/// <summary>A key is needed that work in steps holds, or a place for such work: the command is to come again in a later
/// turn, rather than to do much at once in this one. Nothing of it was done.</summary>
internal sealed class KeyInUseException : Exception
{
    public KeyInUseException()
        : base("Work in steps comes first.")
    {
    }
}
