using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Blocking;
using Kv.Server.Diagnostics;
using Kv.Server.Effects;
using Kv.Server.Execution;
using Kv.Server.PubSub;
using Kv.Server.Tracking;
using Kv.Server.Users;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Sessions;

/// <summary>One client, whatever the transport: who it is and where its conversation stands.</summary>
/// <remarks>
/// Threads: belongs to the worker (or task) that serves it. Others may read the plain fields for CLIENT LIST, where
/// stale is good enough, and call the members that say "from any thread". Small, since ten thousand may be idle: no
/// buffers of its own.
/// </remarks>
internal sealed class Session : ITrackingClient, ITicketHolder
{
    /// <summary>More subscriptions than this are ended by a thread of the pool, so that the worker's other clients do
    /// not wait.</summary>
    private const int SubscriptionsAtOnceMax = 1024;

    /// <summary>What a connection takes while nothing happens; what each watched key and each subscription adds,
    /// without its name.</summary>
    private const int IdleBytes = 400, WatchBytes = 64, SubscriptionBytes = 112;

    /// <summary>A script that has the key may take half of it, then others are told so.</summary>
    private const int ComesAgainMsMax = 10_000;

    private readonly ISessionOwner _owner;
    private MessageQueue? _messages;
    private int _killed;

    public Session(long id, KvServer server, ISessionOwner owner)
    {
        Id = id;
        Server = server;
        _owner = owner;
        CreatedTickMs = LastActiveTickMs = server.TickMs;
        Created = server.Time.GetUtcNow();
        User = server.Users.Default;
    }

    public long Id { get; }

    public KvServer Server { get; }

    /// <inheritdoc/>
    // By whoever runs its commands, or serves it; read by its own thread afterwards.
    public long LastTicket { get; set => field = Math.Max(field, value); }

    /// <summary>The port of a replica's own, as it says; 0: it has not.</summary>
    public int ReplicaPort { get; set; }

    /// <summary>What was sent of a command that goes on in steps, for the feed; null: nobody wants it.</summary>
    public byte[]? SentEffect { get; set; }

    /// <summary>The database of the next command.</summary>
    public int Database { get; set; }

    public RespVersion Version { get; set => SetGate(ref field, value); } = RespVersion.Resp2;

    /// <summary>CLIENT SETNAME; null for none.</summary>
    public byte[]? Name { get; set; }

    /// <summary>CLIENT SETINFO lib-name and lib-ver; null for none.</summary>
    public byte[]? LibName { get; set; }

    public byte[]? LibVersion { get; set; }

    /// <summary>Whether commands are answered; false before AUTH on a server with a password.</summary>
    public bool Authenticated { get; set => SetGate(ref field, value); }

    /// <summary>Let in past maxclients, to look after the server; see <see cref="Admission"/>.</summary>
    public bool IsReserved { get; set => SetGate(ref field, value); }

    /// <summary>Who the client is. What a user may do changes under it; see <see cref="FollowUser"/>.</summary>
    public User User
    {
        get;
        set
        {
            field = value;
            RightsVersion = 0;
        }
    }

    /// <summary>The rules by which each call has to be checked; null when the user may do everything.</summary>
    internal UserRules? Restriction { get; private set; }

    /// <summary>The version of the users when <see cref="Restriction"/> was looked up; 0: it has not been.</summary>
    internal int RightsVersion { get; private set; }

    /// <summary>Looks up what the user may do now. At the top of a turn in which the users have another version, and
    /// after AUTH. By the session's own thread.</summary>
    internal void FollowUser()
    {
        RightsVersion = Server.Users.Version;       // before the rules: newer ones only mean one more look
        var rules = User.Rules;
        Restriction = rules.AllowsEverything || IsReplay ? null : rules;
        // Removed while this client logged in: whoever removed it may have looked at the clients before. The fence
        // orders the write of User before this read, as theirs does the removal before their look.
        Interlocked.MemoryBarrier();
        if (User.IsRemoved && !CloseAfterReply) Kill();
    }

    /// <summary>CLIENT REPLY.</summary>
    public ReplyMode ReplyMode { get; set => SetGate(ref field, value); }

    public bool NoTouch { get; set; }

    public bool NoEvict { get; set; }

    public ClientKind Kind { get; set => SetGate(ref field, value); }

    /// <summary>The client's subscriptions; null for none. Whoever changes them sets <see cref="Kind"/>, too.</summary>
    public SubscriptionSet? Subscriptions { get; set; }

    /// <summary>The client's place among those that watch all commands (MONITOR); null: it is none of them.</summary>
    public Subscription? Monitoring { get; set => SetGate(ref field, value); }

    /// <summary>Whose output limit holds. Lines of MONITOR are messages: by default replies have no limit.</summary>
    public ClientKind OutputKind => Monitoring == null ? Kind : ClientKind.PubSub;

    /// <summary>How the client tracks keys; null: not at all. A stand-in has its client's.</summary>
    public ClientTracking? Tracking { get; set => SetGate(ref field, value); }

    public DateTimeOffset Created { get; }

    /// <summary>In the time of <see cref="KvServer.TickMs"/>.</summary>
    public long CreatedTickMs { get; }

    /// <summary>When bytes last came in; in the time of <see cref="KvServer.TickMs"/>.</summary>
    public long LastActiveTickMs { get; internal set; }

    /// <summary>The peer, "127.0.0.1:49110", or the path of a unix socket and ":0".</summary>
    public string Address { get; init; } = "";

    public string LocalAddress { get; init; } = "";

    /// <summary>Whether the peer is on this machine.</summary>
    public bool IsLocal { get; init; } = true;

    /// <summary>What <see cref="Descriptor"/> is without a socket.</summary>
    internal const int NoDescriptor = -1;

    /// <summary>The socket's number.</summary>
    public int Descriptor { get; init; } = NoDescriptor;

    public long CommandsProcessed { get; internal set; }

    public long BytesIn { get; internal set; }

    public long BytesOut { get; internal set; }

    /// <summary>The last command run (updated after each window, and before a command of several words).</summary>
    public Command? LastCommand { get; internal set; }

    /// <summary>Bytes received but not yet run, as of the last turn.</summary>
    public long QueryBytes => _owner.QueryBytes;

    /// <summary>Bytes of replies that the client has not taken yet, as of the last turn.</summary>
    public long OutputBytes => _owner.OutputBytes;

    /// <summary>Memory of the buffers of this client.</summary>
    public long BufferBytes => _owner.BufferBytes;

    /// <summary>Bytes that <see cref="QueryBytes"/> may grow by before there must be more memory.</summary>
    public long QueryFreeBytes => _owner.QueryFreeBytes;

    /// <summary>Arguments that are kept beside the input: big ones, and those of a command that waits for the end of a
    /// pause.</summary>
    public long ArgumentBytes => (Blocks?.Bytes ?? 0) + (Held?.Bytes ?? 0) + Partial.KeptBytes;

    /// <summary>In how many pieces the replies that the client has not taken yet wait.</summary>
    public int OutputPieces => _owner.OutputPieces;

    /// <summary>The memory of the <see cref="OutputPieces"/>.</summary>
    public long OutputMemoryBytes => _owner.OutputMemoryBytes;

    /// <summary>All that the server holds for this client: what CLIENT LIST and maxmemory-clients go by.</summary>
    public long MemoryBytes => IdleBytes + QueryBytes + QueryFreeBytes + ArgumentBytes + OutputMemoryBytes
        + (Transaction is { } transaction
            ? transaction.QueuedBytes + ((long)WatchBytes * transaction.Watches.Count) : 0)
        + ((long)SubscriptionBytes * (Subscriptions?.Count ?? 0));

    /// <summary>Set by a command (QUIT): the replies so far are sent, then the connection closes. Nothing more is
    /// run.</summary>
    public bool CloseAfterReply { get; set => SetGate(ref field, value); }

    /// <summary>The rest of a long or waiting command; see <see cref="CommandContext.Continue"/>.</summary>
    internal ICommandSteps? Steps { get; set => SetGate(ref field, value); }

    /// <summary>What the slow log may show of the command whose rest <see cref="Steps"/> are; null when the log is off,
    /// or shows no such command.</summary>
    internal SlowCall? SlowCall { get; set; }

    /// <summary>How long the turns of the command whose rest <see cref="Steps"/> are have taken so far.</summary>
    internal long StepTicks { get; set; }

    /// <summary>Whether the running command's error has been counted already: a script's, by the command that it
    /// called.</summary>
    internal bool IsErrorCounted { get; set; }

    /// <summary>Whether the changes of the running command have been counted (<see cref="ChangeRule"/>).</summary>
    internal bool HasCountedChanges { get; set; }

    /// <summary>Whether a replica has said that its version knows that fields of hashes can expire.</summary>
    internal bool KnowsFieldExpiry { get; set; }

    /// <summary>Whether a replica has said that it wants a snapshot, and nothing after it.</summary>
    internal bool WantsFileOnly { get; set; }

    /// <summary>Values that <see cref="Steps"/> still owe the client.</summary>
    internal int OwedBySteps { get; set; } = 1;

    /// <summary>Whether <see cref="Steps"/> have written a part of their reply: nothing else may be written before its
    /// end.</summary>
    internal bool IsInReply { get; set; }

    /// <summary>Whether its commands come from a file, and were allowed when they first ran.</summary>
    internal bool IsReplay { get; init; }

    /// <summary>Between MULTI and EXEC.</summary>
    public bool InMulti { get; set => SetGate(ref field, value); }

    /// <summary>What is queued and watched; null until the client's first MULTI or WATCH.</summary>
    public Transaction? Transaction { get; set; }

    /// <summary>A command that could not run yet (CLIENT PAUSE, no room, a key that work in steps holds): it runs first
    /// when the session goes on.</summary>
    internal HeldCommand? Held
    {
        get;
        set
        {
            if (field == null != (value == null)) Server.Pause.CountHeld(value == null ? -1 : 1);
            SetGate(ref field, value);
        }
    }

    /// <summary>When the command that waits for room in the store is refused, in the time of
    /// <see cref="KvServer.TickMs"/>; 0 when none waits.</summary>
    internal long RoomDeadlineTickMs { get; set; }

    /// <summary>Since when <see cref="Held"/>, an EXEC or a script has met a key that work in steps holds, in the time
    /// of <see cref="KvServer.TickMs"/>; 0: it has not.</summary>
    internal long ComesAgainSinceTickMs { get; set; }

    /// <summary>What the client wants next has met such a key, and comes again in a later turn.</summary>
    internal void NoteComesAgain()
    {
        if (ComesAgainSinceTickMs == 0) ComesAgainSinceTickMs = Server.TickMs;
    }

    /// <summary>The work in steps that it waits for then, as far as is known.</summary>
    internal IAwaitedWork? Awaited { get; set; }

    /// <summary>Does a step of that work, as what waits would if it were tried: but it would throw each time, and of
    /// thirty clients that want one key an eighth of the processor went to that.</summary>
    /// <returns>False: it is to be tried. It says what comes next where the work is over, takes long, or has kept this
    /// client for long, and where all are to stand still.</returns>
    internal bool AwaitsStill(StoreSession store)
    {
        if (Awaited is not { } work) return false;
        if (!work.TakesLong && !HasComeAgainForLong && !store.Presence.IsTurnedAway && !work.IsOver)
        {
            work.Step();
            if (!work.IsOver) return true;
        }

        Awaited = null;
        return false;
    }

    /// <summary>Whether that has been so for so long that it does the rest of such work itself: others may be quicker
    /// to get the key each time.</summary>
    internal bool HasComeAgainForLong =>
        ComesAgainSinceTickMs != 0 && Server.TickMs - ComesAgainSinceTickMs > ComesAgainMsMax;

    /// <summary>When a waiting session goes on, in the time of <see cref="KvServer.TickMs"/>; 0: it does not
    /// wait.</summary>
    internal long ParkedUntilTickMs { get; private set => SetGate(ref field, value); }

    /// <summary>How much may be unread before nothing more of it is run: <c>client-output-pause</c>, or less.</summary>
    internal long OutputPauseBytes => Math.Min(Server.Options.ClientOutputPause, OutputPauseBytesMost);

    /// <summary>The least while a file is sent, which need not be in memory.</summary>
    internal long OutputPauseBytesMost { get; set; } = long.MaxValue;

    /// <summary>The client does not read its replies: nothing is run until it has read some.</summary>
    internal bool OutputPaused { get; set => SetGate(ref field, value); }

    internal bool IsParked => ParkedUntilTickMs != 0;

    /// <summary>Of a session that is parked: until there is room, or the disk and replicas have taken some of what was
    /// done.</summary>
    internal bool WaitsForMemory { get; set; }

    /// <summary>Whether the rest of a command can go on now. It waits for a client that does not read, unless it holds
    /// something that others may need.</summary>
    internal bool GoesOn =>
        !IsParked && (Steps is { Holds: true } || ((Steps != null || Held != null) && !OutputPaused));

    /// <summary>The blocking command in which the session waits, or null. From any thread: the command may have been
    /// served already.</summary>
    internal BlockedCommand? Blocked => Steps as BlockedCommand;

    /// <summary>Whether the session waits in a blocking command, which CLIENT UNBLOCK can end.</summary>
    internal bool IsBlocked => Blocked is { IsWaiting: true };

    /// <summary>Whether the session's command has not begun and waits for others: for a key, or for the end of a pause.
    /// If the client leaves meanwhile, nothing is done or taken for it.</summary>
    internal bool WaitsForOthers => IsBlocked || (Held != null && IsParked);

    /// <summary>Whether the session is in the middle of a long command that only reads and has written no part of its
    /// reply: if the client leaves, nobody needs the rest.</summary>
    internal bool EndsWithClient =>
        Steps != null && !IsInReply && !IsParked && LastCommand is { } command
        && (command.Flags & CommandFlags.ReadOnly) != 0;

    /// <summary>Why commands cannot simply be run; 0 nearly always.</summary>
    internal SessionGate Gate { get; private set; } = SessionGate.Unauthenticated;

    /// <summary>How far a command that has arrived only in part was parsed.</summary>
    internal ParseState Partial;

    /// <summary>Large arguments of the command that is arriving; null for none.</summary>
    internal ReceivedBlocks? Blocks { get; set; }

    /// <summary>Whether <see cref="Kill"/> was called.</summary>
    // Volatile: set by any thread, and the serving thread looks again at each turn; nothing else is ordered by it.
    public bool IsKilled => Volatile.Read(ref _killed) != 0;

    /// <summary>Closes the connection soon; replies of commands that have run are still sent. From any
    /// thread.</summary>
    public void Kill()
    {
        Volatile.Write(ref _killed, 1);
        _owner.Wake(this);
    }

    /// <summary>Ends the session's wait, if it waits. From any thread.</summary>
    public void Unpark()
    {
        _unparked = true;
        _owner.Wake(this);
    }

    /// <summary>Has the session look whether its user may still have all its channels, and MONITOR. From any
    /// thread.</summary>
    public void LookAtChannels()
    {
        _looksAtChannels = true;
        _owner.Wake(this);
    }

    /// <summary>Closes the connection if the client gets what its user is no longer allowed. Asked after
    /// <see cref="LookAtChannels"/> by whoever serves the session.</summary>
    internal void EndIfChannelIsLost()
    {
        if (!_looksAtChannels) return;
        _looksAtChannels = false;
        var rules = User.Rules;
        if (Monitoring != null && Server.OwnCommands.Find("MONITOR") is { } monitor && !rules.MayCall(monitor)) Kill();
        if (Subscriptions is not { } set) return;
        if (set.Channels.Names.Concat(set.ShardChannels.Names).Any(name => !rules.AllowsChannel(name, false))
            || set.Patterns.Names.Any(name => !rules.AllowsChannel(name, isPattern: true))) Kill();
    }

    private volatile bool _unparked, _looksAtChannels;
    private bool _isLimitNoted;
    private int _isOutputLimitNoted;

    /// <summary>Appends a message to the client's output, between the replies to its commands. From any thread; takes
    /// the caller's reference.</summary>
    public void Push(SharedMessage message)
    {
        bool isTaken = false;
        try
        {
            Fault.Point("pubsub.push");
            isTaken = QueueOfMessages.Enqueue(message);
        }
        catch (Exception exception)
        {
            // No memory for one more message: this client, which would miss it, is closed; publisher and others go on.
            Server.Log.LogCritical(exception, "A message for client {Client} is lost; its connection is closed", Id);
            Kill();
        }

        if (isTaken) _owner.Wake(this);
        else message.Release();
    }

    internal MessageQueue? Messages => _messages;

    /// <summary>The client leaves: it gets the messages that wait for it, and no others.</summary>
    internal void RefuseMessages() => QueueOfMessages.Refuse();

    // Interlocked: of several publishers, and the session itself, one makes it.
    private MessageQueue QueueOfMessages =>
        _messages ?? Interlocked.CompareExchange(ref _messages, new MessageQueue(), null) ?? _messages;

    /// <summary>Writes the messages that wait for this client; what the caller writes next comes after them.</summary>
    /// <remarks>In the middle of a reply they go on waiting: the dispatcher writes them after it.</remarks>
    internal void WriteMessages(ReplyWriter reply)
    {
        // Ends: those left over first, then those that have come since.
        for (int round = 0; round < 2 && TakeMessages(); round++) WriteTakenMessages(reply, bytesMax: int.MaxValue);
    }

    /// <summary>Has the messages sent that wait for this client, as it reads them.</summary>
    internal void SendMessagesSoon()
    {
        if (_messages is { Count: > 0 }) _owner.Wake(this);
    }

    /// <summary>Takes the messages that wait for this client, unless it is in the middle of a reply.</summary>
    /// <returns>False when there is nothing to write.</returns>
    internal bool TakeMessages() => _messages != null && !IsInReply && !OwesRead && _messages.Take();

    /// <summary>Whether a long command of a client that tracks keys has read some, perhaps, and not replied yet: a
    /// message that they have changed comes after the reply, or the client would keep what is in it.</summary>
    private bool OwesRead => Tracking != null && Steps is not (null or BlockedCommand);

    /// <summary>Writes messages that <see cref="TakeMessages"/> took, until the output has <paramref name="bytesMax"/>
    /// bytes.</summary>
    internal void WriteTakenMessages(ReplyWriter reply, int bytesMax)
    {
        Debug.Assert(_messages != null && !IsInReply, "messages are written between two replies");
        var output = reply.Output;
        while (output.Length < bytesMax && _messages!.TryNext(out var message))
        {
            try
            {
                // A message does not count for max-reply-bytes.
                int limitFrom = output.LimitFrom, start = output.Length;
                output.LimitFrom = limitFrom + message.WrittenBytesMax;
                Fault.Point("message.write");
                message.WriteTo(reply, isSubscriber: Kind == ClientKind.PubSub);
                output.LimitFrom = limitFrom + output.Length - start;
            }
            catch
            {
                Kill();     // the message is lost: whoever may miss one, and keep an old copy, is closed
                throw;
            }
            finally
            {
                message.Release();
            }
        }
    }

    /// <summary>The client is gone: nothing more is pushed to it, and nobody finds it any more. Called once, by whoever
    /// serves the session.</summary>
    internal void End()
    {
        Server.Connections.Remove(this);
        EndMonitoring();
        if (Kind == ClientKind.Replica) Server.Replicas.Remove(this);
        if (Tracking != null) Server.Tracking.End(this);
        if (Subscriptions is { Count: > SubscriptionsAtOnceMax } many)
        {
            // Closed before the subscriptions end: what is pushed until then is refused.
            QueueOfMessages.Close();
            Server.Remainders.Start(() => Server.PubSub.UnsubscribeAll(many));
        }
        else if (Subscriptions != null)
        {
            Server.PubSub.UnsubscribeAll(Subscriptions);
        }

        // Whoever found the session before it was removed may push still. A queue that was made for that would never be
        // closed, and its messages never freed.
        Interlocked.CompareExchange(ref _messages, MessageQueue.Ended, null)?.Close();
        Held?.Dispose();
        Held = null;
        EndSteps();
        Transaction?.Dispose();
    }

    /// <summary>Ends MONITOR: nothing more is pushed for it.</summary>
    internal void EndMonitoring()
    {
        if (Monitoring is not { } place) return;
        Server.Monitors.Remove(place);
        Monitoring = null;
    }

    /// <summary>Counts and logs that the client is closed because it has left too much unread.</summary>
    internal void NoteOutputLimit(long bytes, long nowTickMs)
    {
        // Interlocked: whoever serves the session looks, and a sweep, perhaps; one disconnection is counted once.
        if (Interlocked.Exchange(ref _isOutputLimitNoted, 1) != 0) return;
        Server.Counters.CountOutputLimitClose();
        if (!Server.LogBrakes.OutputLimit.TryTake(nowTickMs, out string more)) return;
        Server.Log.LogWarning(
            "Client {Client} at {Address} left {Bytes} bytes unread; closed (client-output-buffer-limit){More}", Id,
            Address, bytes, more);
    }

    /// <summary>Counts and logs that the client is closed because its input is too long.</summary>
    internal void NoteInputLimit(long bytes)
    {
        if (_isLimitNoted) return;
        _isLimitNoted = true;
        Server.Counters.CountInputLimitClose();
        // Strangers do not fill the log.
        var level = Authenticated ? LogLevel.Warning : LogLevel.Debug;
        Server.Log.Log(level,
            "Client {Client} at {Address} has {Bytes} bytes of input waiting; closed (client-query-buffer-limit)", Id,
            Address, bytes);
    }

    /// <summary>Counts and logs that the client is closed because it did not authenticate in time.</summary>
    internal void NoteAuthTimeout()
    {
        Server.Counters.CountAuthTimeout();
        Server.Log.LogDebug("Client {Client} at {Address} did not authenticate in time; closed (auth-timeout)",
            Id, Address);
    }

    /// <summary>Gives up the rest of a long command, with all that it holds.</summary>
    internal void EndSteps()
    {
        (Steps as IDisposable)?.Dispose();
        Steps = null;
        SlowCall?.Dispose();
        SlowCall = null;
    }

    /// <summary>Lets the session wait: nothing of it runs until a time has come or <see cref="Unpark"/>.</summary>
    internal void Park(long untilTickMs)
    {
        Debug.Assert(untilTickMs != 0, "0 says that nobody waits");
        Debug.Assert(!IsParked, "one wait ends before the next begins");
        Debug.Assert(Steps is not { Holds: true }, "what holds keys or an epoch waits for nobody");
        _unparked = WaitsForMemory = false;
        ParkedUntilTickMs = untilTickMs;
    }

    /// <summary>How long a command waits before it looks again whether a snapshot has kept its key.</summary>
    internal const int SnapshotWaitMs = 1;

    /// <summary>Takes back a <see cref="Park"/> of this turn. By the session's own thread.</summary>
    internal void EndPark() => ParkedUntilTickMs = 0;

    /// <summary>Ends the session's wait if its time has come or somebody has ended it.</summary>
    /// <returns>False when the session goes on waiting.</returns>
    internal bool TryEndWait(long nowTickMs)
    {
        Debug.Assert(IsParked, "only a wait can end");
        if (!_unparked && nowTickMs < ParkedUntilTickMs) return false;
        ParkedUntilTickMs = 0;
        return true;
    }

    private void SetGate<T>(ref T field, T value)
    {
        field = value;
        Gate = (Authenticated ? 0 : SessionGate.Unauthenticated)
            | (Kind == ClientKind.PubSub && Version == RespVersion.Resp2 ? SessionGate.Subscriber : 0)
            | (ReplyMode != ReplyMode.On ? SessionGate.Silent : 0)
            | (IsReserved ? SessionGate.Reserved : 0)
            | (InMulti ? SessionGate.Multi : 0)
            | (Monitoring != null ? SessionGate.Monitoring : 0)
            | (Tracking != null ? SessionGate.Tracking : 0)
            | (CloseAfterReply || Steps != null || Held != null || IsParked || OutputPaused ? SessionGate.Stopped : 0);
    }
}
