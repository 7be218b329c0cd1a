namespace Kv.Server.Sessions;

/// <summary>The transport's side of a session.</summary>
internal interface ISessionOwner
{
    /// <summary>A client that has left so much unread gets no messages for now: they stay where all who get them share
    /// them.</summary>
    const int MessageBytesAhead = 64 * 1024;

    /// <summary>How many bytes of messages are sent before others have their turn.</summary>
    const int MessageBytesATurn = 1024 * 1024;

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
