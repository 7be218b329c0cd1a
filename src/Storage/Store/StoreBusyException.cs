namespace Kv.Storage;

/// <summary>A key is needed that something holds which takes long: the client is to be told, rather than to wait.
/// Nothing of its command was done.</summary>
internal sealed class StoreBusyException : Exception
{
    public StoreBusyException()
        : base("A key is held for long.")
    {
    }
}
