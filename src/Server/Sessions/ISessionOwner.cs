namespace Kv.Server.Sessions;

/// <summary>The transport's side of a session.</summary>
internal interface ISessionOwner
{
    /// <summary>Makes whoever serves the session look at it soon: it was killed, unparked, or has messages. From any
    /// thread.</summary>
    void Wake(Session session);

    /// <summary>Bytes received but not yet run; in a turn also those of the command that runs.</summary>
    long QueryBytes { get; }

    /// <summary>Bytes that <see cref="QueryBytes"/> may grow by within memory of the client's own.</summary>
    long QueryFreeBytes { get; }

    /// <summary>Bytes of replies not yet taken by the client.</summary>
    long OutputBytes { get; }

    /// <summary>Chunks, values and messages that <see cref="OutputBytes"/> are in.</summary>
    int OutputPieces { get; }

    /// <summary>Memory of the <see cref="OutputPieces"/>; that of a stored value or a message is its bytes.</summary>
    long OutputMemoryBytes { get; }

    /// <summary>Memory of the client's buffers.</summary>
    long BufferBytes { get; }
}
