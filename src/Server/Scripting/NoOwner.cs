using Kv.Server.Sessions;

namespace Kv.Server.Scripting;

/// <summary>Owns the stand-in of a client's session, which nobody wakes or asks.</summary>
internal sealed class NoOwner : ISessionOwner
{
    public static readonly NoOwner Instance = new();

    public long QueryBytes => 0;

    public long QueryFreeBytes => 0;

    public int OutputPieces => 0;

    public long OutputMemoryBytes => 0;

    public long OutputBytes => 0;

    public long BufferBytes => 0;

    public void Wake(Session session)
    {
        // It never waits.
    }
}
