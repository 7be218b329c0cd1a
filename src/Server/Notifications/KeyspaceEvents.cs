using System.Buffers;
using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Configuration;
using Kv.Server.Effects;
using Kv.Server.PubSub;
using Kv.Storage;

namespace Kv.Server.Notifications;

/// <summary>Tells subscribers what happens to keys: <c>__keyspace@0__:key</c> gets the event's name,
/// <c>__keyevent@0__:event</c> the key's.</summary>
/// <remarks>
/// Threads: any. What is published is in nobody's memory but that of the subscribers' queues, which have their limits.
/// Commands publish through <see cref="CommandEvents"/>; what the store's thread does (keys that expire or are evicted)
/// comes here directly, under the lock of the key's record: before whatever a later writer has to say of that key.
/// Cost: without subscribers a few loads an event; when nobody asks a command tests one word.
/// </remarks>
internal sealed class KeyspaceEvents : IKeyListener
{
    /// <summary>Names of channels up to this length are made on the stack.</summary>
    private const int StackBytes = 512;

    private readonly PubSubEngine _engine;
    private readonly Store _store;
    private readonly Action<Exception> _failed;
    private readonly Lock _heardGuard = new();
    private int _asked;
    private bool _isFed;

    /// <param name="failed">Is told why an event, or an entry of the feed, could not be published.</param>
    public KeyspaceEvents(PubSubEngine engine, Store store, Action<Exception> failed)
    {
        (_engine, _store, _failed) = (engine, store, failed);
        Feed = new Feed(Hear, store.ChargeFeed, failed);
        store.Listener = this;
    }

    /// <summary>What is asked for.</summary>
    // Volatile: whoever is told of a change of the option by its reply has the next command see it.
    public KeyEventClasses Asked => (KeyEventClasses)Volatile.Read(ref _asked);

    /// <summary>What commands do, for the disk and replicas.</summary>
    public Feed Feed { get; }

    /// <summary>Goes by <c>notify-keyspace-events</c> from here on.</summary>
    public string? Follow(ServerOptions options)
    {
        var asked = KeyEventNames.Parse(options.NotifyKeyspaceEvents);
        lock (_heardGuard)
        {
            Volatile.Write(ref _asked, (int)asked);
            _store.ExpiresPromptly = (asked & KeyEventClasses.Expired) != 0;
            Listen();
        }

        return null;
    }

    /// <summary>Publishes an event if its class is asked for.</summary>
    public void Publish(KeyEvent what, int database, ReadOnlySpan<byte> key)
    {
        Debug.Assert(what != KeyEvent.None, "an event has a name");
        var asked = Asked;
        if ((asked & KeyEventNames.ClassOf(what)) == 0 || _engine.SubscriberCount == 0) return;
        var name = KeyEventNames.NameOf(what);
        try
        {
            if ((asked & KeyEventClasses.Keyspace) != 0) Publish("__keyspace@"u8, database, key, name);
            if ((asked & KeyEventClasses.Keyevent) != 0) Publish("__keyevent@"u8, database, name, key);
        }
        catch (Exception exception)
        {
            // No memory, for example. The event is lost; the change is made, and its key has to be let go of.
            _failed(exception);
        }
    }

    /// <inheritdoc/>
    public void Hear(KeyNote note, int database, ReadOnlySpan<byte> key)
    {
        if (Feed.IsOn) Tell(note, database, key);
        // Of a mere change only a command knows the name.
        if (note is not (KeyNote.Changed or KeyNote.Trimmed or KeyNote.Altered))
            Publish(EventOf(note), database, key);
    }

    /// <inheritdoc/>
    public void HearDetail(int database, ReadOnlySpan<byte> key, in KeyDetail detail)
    {
        if (!Feed.IsOn || detail.Kind != KeyDetailKind.FieldExpired) return;
        var effects = new EffectBytes();
        DetailEffect.Add(effects, database, key, detail);
        Feed.AddOther(effects);
    }

    /// <inheritdoc/>
    public bool WantsState => Feed.IsOn;

    /// <inheritdoc/>
    public void HearState(int database, ReadOnlySpan<byte> key, in ValueView value)
    {
        using var writer = new RdbValueWriter(_store);
        writer.Output.Begin(compresses: false, value.FootprintBytes + (value.FootprintBytes / 4)
            + RdbOutput.BufferBytes);
        if (value.Block.IsNone) writer.Write(value);
        else writer.WriteString(value.Block.Span);
        if (writer.Output.Status == StoreStatus.Ok) DumpPayload.Finish(writer.Output);
        if (writer.Output.Status != StoreStatus.Ok)
        {
            _failed(new OutOfMemoryException("A value that was changed without a command is missing in the feed"));
            return;
        }

        var effects = new EffectBytes();
        effects.Begin(database, 6);
        effects.Add("RESTORE"u8);
        effects.Add(key);
        effects.Add(value.ExpiryMs == NewValue.NoExpiry ? 0 : value.ExpiryMs);
        effects.Add(writer.Output.Written);
        effects.Add("REPLACE"u8);
        effects.Add("ABSTTL"u8);
        effects.End();
        Feed.AddOther(effects);
    }

    /// <inheritdoc/>
    public void Settle()
    {
    }

    /// <summary>The event of what the store has noted.</summary>
    public static KeyEvent EventOf(KeyNote note) => note switch
    {
        KeyNote.Added => KeyEvent.New,
        KeyNote.Deleted => KeyEvent.Del,
        KeyNote.Expired => KeyEvent.Expired,
        KeyNote.FieldsExpired => KeyEvent.HExpired,
        KeyNote.Evicted => KeyEvent.Evicted,
        _ => KeyEvent.KeyMiss,
    };

    /// <summary>Puts into the feed what no command has done: keys that have expired, or were evicted.</summary>
    private void Tell(KeyNote note, int database, ReadOnlySpan<byte> key)
    {
        if (note is not (KeyNote.Expired or KeyNote.Evicted or KeyNote.Deleted)) return;
        var effects = new EffectBytes();
        effects.AddCommand(database, "DEL"u8, key);
        Feed.AddOther(effects);
    }

    /// <summary>Hears of all changes from here on, or no longer, for the feed.</summary>
    private void Hear(bool isFed)
    {
        lock (_heardGuard)
        {
            _isFed = isFed;
            Listen();
        }
    }

    private void Listen()
    {
        Debug.Assert(_heardGuard.IsHeldByCurrentThread, "what is heard changes under the lock");
        var heard = HeardFor(Asked);
        if (_isFed) heard |= HeardNotes.Changes | HeardNotes.Ends;
        _store.Watches.Heard = heard;
    }

    /// <summary>What the store has to tell for these events.</summary>
    private static HeardNotes HeardFor(KeyEventClasses asked)
    {
        var heard = HeardNotes.None;
        if ((asked & KeyEventClasses.Changes) != 0) heard |= HeardNotes.Changes;
        if ((asked & (KeyEventClasses.Expired | KeyEventClasses.Evicted)) != 0) heard |= HeardNotes.Ends;
        if ((asked & KeyEventClasses.Missed) != 0) heard |= HeardNotes.Misses;
        return heard;
    }

    private void Publish(ReadOnlySpan<byte> prefix, int database, ReadOnlySpan<byte> rest, ReadOnlySpan<byte> payload)
    {
        int most = prefix.Length + NumberText.MaxInt64Bytes + 3 + rest.Length;
        byte[]? rented = most > StackBytes ? ArrayPool<byte>.Shared.Rent(most) : null;
        Span<byte> channel = rented ?? stackalloc byte[StackBytes];
        prefix.CopyTo(channel);
        int length = prefix.Length;
        length += NumberText.FormatInt64(database, channel[length..]);
        "__:"u8.CopyTo(channel[length..]);
        length += 3;
        Debug.Assert(length + rest.Length <= most, "a channel has the room that was counted");
        rest.CopyTo(channel[length..]);
        _engine.Publish(channel[..(length + rest.Length)], payload);
        if (rented != null) ArrayPool<byte>.Shared.Return(rented);
    }
}
