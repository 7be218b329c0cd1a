namespace Kv.Storage;

/// <summary>A leased session on database 0, given back on dispose.</summary>
public readonly ref struct StoreGuard
{
    private readonly Store _store;

    internal StoreGuard(Store store, StoreSession session)
    {
        _store = store;
        Session = session;
    }

    /// <summary>The session; of no use after the guard is disposed.</summary>
    public StoreSession Session { get; }

    /// <summary>Gives the session back.</summary>
    public void Dispose() => _store.Sessions.Leave(Session);
}
