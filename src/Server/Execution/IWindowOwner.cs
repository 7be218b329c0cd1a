using Kv.Server.Sessions;

namespace Kv.Server.Execution;

/// <summary>The transport's side of a <see cref="CommandWindow"/>.</summary>
internal interface IWindowOwner
{
    /// <summary>Sends the replies to one session of the group since the last call.</summary>
    /// <param name="index">The session's place in the group.</param>
    /// <param name="output">The bytes from <paramref name="start"/> to <paramref name="end"/> of its buffer, and the
    /// blocks between them.</param>
    void Send(int index, Session session, SessionOutput output, int start, int end);
}
