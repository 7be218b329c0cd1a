namespace Kv.Server.Effects;

/// <summary>Takes the feed of effects: a file, replicas.</summary>
/// <remarks>Threads: <c>kv-feed</c> only.</remarks>
internal interface IFeedSink
{
    /// <summary>Takes whole entries, in their order. May block: then writers wait, too, once the feed is
    /// full.</summary>
    /// <param name="entries">Commands in RESP, valid during the call. A sink's first entry begins with
    /// <c>SELECT</c>.</param>
    /// <param name="database">The one that is selected at their end; below 0: none yet.</param>
    /// <param name="lastTicket">The ticket of the last entry; those up to it that are not in here changed
    /// nothing.</param>
    void Write(ReadOnlySpan<byte> entries, int database, long lastTicket);

    /// <summary>Whether it wants messages of publishers, too.</summary>
    bool TakesMessages => false;

    /// <summary>Nothing more is at hand: what was written may go to the disk.</summary>
    void Flush();

    /// <summary>It has thrown, and gets nothing more: whoever counts on it is to learn that. Does not throw.</summary>
    void Fail(Exception exception);
}
