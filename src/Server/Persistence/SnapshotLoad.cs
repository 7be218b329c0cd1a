using System.Diagnostics;
using System.Text;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Persistence;

/// <summary>Takes in what a snapshot has.</summary>
/// <remarks>Threads: one, in turns of its session, which end every so many keys.</remarks>
internal sealed class SnapshotLoad(KvServer server, StoreSession session, Func<double> share) : IRdbSink
{
    private const int KeysPerTurn = 256, NotesMax = 32;
    private static readonly TimeSpan RoomPatience = TimeSpan.FromSeconds(5), LogEvery = TimeSpan.FromSeconds(1);

    private readonly List<byte[]> _libraries = [];
    private readonly Dictionary<string, string> _notes = [];
    private int _database, _inTurn;
    private long _lastLine = Stopwatch.GetTimestamp();
    private bool _isFull;

    /// <summary>Keys that are there.</summary>
    public long Loaded { get; private set; }

    /// <summary>Keys whose time had passed.</summary>
    public long Expired { get; private set; }

    /// <summary>Texts of libraries, in their order.</summary>
    public IReadOnlyList<byte[]> Libraries => _libraries;

    /// <summary>What the file says of itself, by name.</summary>
    public string? NoteOf(string name) => _notes.GetValueOrDefault(name);

    public void Note(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        const int shownMax = 64;
        if (_notes.Count < NotesMax && name.Length <= shownMax && value.Length <= shownMax)
            _notes[Encoding.UTF8.GetString(name)] = Encoding.UTF8.GetString(value);
    }

    public void AddLibrary(ReadOnlySpan<byte> text) => _libraries.Add(text.ToArray());

    public void BeginDatabase(int number)
    {
        _database = number;
        session.Select(number);
    }

    // The index grows by itself.
    public void Expect(long keys)
    {
    }

    public void Foresee(ReadOnlySpan<byte> key) => session.Prefetch(key);

    public bool TryAdd(ReadOnlySpan<byte> key, ref RdbValue value, long expiryMs, RdbUse use)
    {
        if (++_inTurn >= KeysPerTurn) BeginTurn();
        if (expiryMs != NewValue.NoExpiry && expiryMs <= session.NowMs)
        {
            Expired++;
            return true;
        }

        using var held = session.Hold(session.Key(key), DataType.Any, value.ExpectedBytes);
        if (held.Status == StoreStatus.Ok && held.Value.Exists) return false;
        var status = held.Status == StoreStatus.Ok ? value.Store(held.Value, expiryMs) : held.Status;
        if (status != StoreStatus.Ok)
            throw new RdbFileException($"after {Loaded} keys the system has no memory for more");
        held.SetUse(use.Frequency, use.IdleSeconds);
        Loaded++;
        return true;
    }

    /// <summary>Between two keys: lets memory be freed and keys be evicted, and says how far it is.</summary>
    private void BeginTurn()
    {
        _inTurn = 0;
        if (server.IsStopping) throw new RdbFileException("the server ends before it has loaded all");
        session.GoOffline();
        // Without a policy that evicts the data is loaded whole, as by Redis, and writes are refused later.
        if (server.IsReplaying)
        {
            session.BeginTurn();
            session.Select(_database);
            return;
        }

        if (server.Store.AskRoom() == StoreRoom.Soon) server.Store.WaitForRoom(RoomPatience);
        if (!_isFull && server.Store.AskRoom() == StoreRoom.Full)
        {
            _isFull = true;
            server.Data.LogWarning("The snapshot is larger than maxmemory: it is loaded, but what takes more memory is "
                + "refused until there is less of it");
        }

        session.BeginTurn();
        session.Select(_database);
        if (Stopwatch.GetElapsedTime(_lastLine) < LogEvery) return;
        _lastLine = Stopwatch.GetTimestamp();
        server.Data.LogInformation("Loading: {Percent:F0}%, {Keys} keys", 100 * share(), Loaded);
    }
}
