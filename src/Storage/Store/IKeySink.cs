namespace Kv.Storage;

/// <summary>Takes keys that are to be held together.</summary>
internal unsafe interface IKeySink
{
    /// <param name="key">Its first byte; stays put.</param>
    /// <param name="length">Its bytes.</param>
    /// <param name="database">The number of its database.</param>
    void Add(byte* key, int length, int database);
}
