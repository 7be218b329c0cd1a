namespace Kv.Server.Sessions;

/// <summary>The transport's side of a session.</summary>
internal interface ISessionOwner
{
    /// <summary>Makes whoever serves the session look at it soon: it was killed, unparked, or has messages. From any thread.</summary>
    void Wake(Session session);

    /// <summary>Bytes received but not yet run.</summary>
    long QueryBytes { get; }

    /// <summary>Bytes of replies not yet taken by the client.</summary>
    long OutputBytes { get; }

    /// <summary>Memory of the client's buffers.</summary>
    long BufferBytes { get; }
}
