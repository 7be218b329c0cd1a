namespace Kv.Storage;

/// <summary>Who works with a session of the store, for a line of the log.</summary>
internal interface ISessionUser
{
    /// <summary>What it works on at this moment, and for whom; null where it cannot be told. From any thread: it may be
    /// over already.</summary>
    string? WorkName { get; }
}
