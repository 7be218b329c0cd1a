using System.Diagnostics;
using System.Runtime.Intrinsics.X86;
using Kv.Protocol;
using Kv.Server.Notifications;
using Kv.Server.Sessions;
using Kv.Server.Tracking;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command over more keys than one turn should work on: MGET, EXISTS, PFCOUNT, MSET, MSETNX, DEL and their
/// like. It happens at one instant all the same.</summary>
/// <remarks>
/// Reads look without locking (<see cref="SteppedRead"/>) and only hold the keys when writers spoil that; writes hold
/// them (<see cref="KeysHold"/>). What EXEC runs works on what EXEC holds (<see cref="BorrowedKeys"/>): locking its
/// keys once more, or waiting for them, would be waiting for itself. The arguments are copied, those in blocks stay
/// in the session's. Threads: the session's; where another one finishes the hold, or EXEC, it works on what is here,
/// behind the claim of that.
/// </remarks>
internal sealed unsafe class ManyKeysCommand : ICommandSteps, IManyKeysWork, IDisposable
{
    /// <summary>A command of more keys is done in steps.</summary>
    public const int KeysMax = KeyStep.KeysMax;

    private readonly Store _store;
    private readonly Session _session;
    private readonly HeldCommand _command;
    private readonly int _keys, _stride;
    private readonly CollectedReply _reply;
    private readonly ManyKeysKind _kind;
    private readonly StepsOwner _owner;
    private readonly CommandEvents? _events;
    private readonly ClientTracking? _tracking;
    private RegisterUnion _union;
    private SteppedRead? _read;
    private KeysHold? _hold;
    private BorrowedKeys? _borrowed;
    private long _charged, _bytesEnd;
    private int _noted, _counted, _deletedSingly;

    public ManyKeysCommand(ref CommandContext context, ManyKeysKind kind)
    {
        _store = context.Server.Store;
        _session = context.Session;
        _kind = kind;
        _owner = new StepsOwner(context);
        _events = context.Events.ForSteps(context.Sent);
        if (context.Command.ReadsKeys && _session.Tracking is { Remembers: true } tracking) _tracking = tracking;
        _stride = kind is ManyKeysKind.SetAll or ManyKeysKind.SetAllIfNoneExists ? 2 : 1;
        Debug.Assert((context.Args.Count - 1) % _stride == 0, "each key has its value");
        _keys = (context.Args.Count - 1) / _stride;
        _reply = new CollectedReply(_store, context.Server.Options.MaxReplyBytes) { Version = _session.Version };
        _command = context.Args.Keep(_store);
        if (kind == ManyKeysKind.CountDistinct) _union = new RegisterUnion(new byte[HyperLogLog.Registers]);
        if (context.InTransaction) _borrowed = new BorrowedKeys(context.Store, _session.Database, _keys, this);
        else if (Action == ManyKeysAction.Read) _read = new SteppedRead(_store, _session.Database, _keys, this);
        else _hold = new KeysHold(_store, _session.Database, _keys, this);
        Charge();
    }

    /// <inheritdoc/>
    public ManyKeysAction Action => _kind switch
    {
        ManyKeysKind.GetAll or ManyKeysKind.Count or ManyKeysKind.CountDistinct => ManyKeysAction.Read,
        ManyKeysKind.DeleteAll => ManyKeysAction.Delete,
        _ => ManyKeysAction.Set,
    };

    /// <inheritdoc/>
    public bool Holds => _hold is { HasKeys: true };

    /// <inheritdoc/>
    public string WorkName => _owner.Text;

    /// <inheritdoc/>
    public IKeyListener? ListenOn(StoreSession session) => _events?.On(session);

    /// <inheritdoc/>
    public bool OnlyIfNoneExists => _kind == ManyKeysKind.SetAllIfNoneExists;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        bool done = _reply.IsBegun ? _reply.PassOn(context.Output) : Work(ref context);
        if (done) Dispose();
        return done;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        _borrowed?.Dispose();
        _hold?.Dispose();
        _read?.Dispose();
        _reply.Dispose();
        _command.Dispose();
        _borrowed = null;
        _hold = null;
        _read = null;
        _store.Charge(-_charged);
        _charged = 0;
    }

    /// <inheritdoc/>
    public byte* Key(int index, out int length)
    {
        Debug.Assert((uint)index < (uint)_keys, "it is one of the keys");
        Argument* argument = _command.Items + 1 + ((long)index * _stride);
        length = argument->Length;
        return argument->Pointer;
    }

    /// <inheritdoc/>
    public int ValueBytes(int index) => _stride == 2 ? _command.Items[2 + (2L * index)].Length : 0;

    /// <inheritdoc/>
    public ReadOnlySpan<byte> Value(int index, out Block block)
    {
        Debug.Assert(_stride == 2 && (uint)index < (uint)_keys, "it is the value of one of the keys");
        Argument argument = _command.Items[2 + (2L * index)];
        block = argument.IsInBlock ? _session.Blocks!.Find(argument.Pointer) : default;
        return argument.Span;
    }

    /// <inheritdoc/>
    public void PrefetchValues(ReadOnlySpan<int> indexes)
    {
        if (_stride != 2 || !Sse.IsSupported) return;
        foreach (int index in indexes) Sse.Prefetch0(_command.Items + 2 + (2L * index));
        foreach (int index in indexes) Sse.Prefetch0(_command.Items[2 + (2L * index)].Pointer);
    }

    /// <inheritdoc/>
    public void BeginReading() => _bytesEnd = _reply.Bytes + StepBudget.BytesMax;

    /// <inheritdoc/>
    public bool MayReadMore => _reply.Bytes < _bytesEnd;

    /// <inheritdoc/>
    public void Restart()
    {
        _counted = 0;
        if (_kind == ManyKeysKind.CountDistinct) _union.Restart();
        _reply.Restart();
    }

    /// <inheritdoc/>
    public void Read(int index, in ValueView value)
    {
        Debug.Assert((uint)index < (uint)_keys, "it is one of the keys");
        if (_kind == ManyKeysKind.GetAll) _reply.Write(value);
        else if (_kind == ManyKeysKind.CountDistinct) _union.Read(index, value);
        else if (value.Exists) _counted++;
    }

    /// <inheritdoc/>
    public void CountDeleted() => _counted++;

    private bool Work(ref CommandContext context)
    {
        if (_tracking != null && !TryNoteKeys(ref context)) return false;
        if (_borrowed != null) return _borrowed.Step() && Answer(ref context, _borrowed.Status);
        if (_read != null)
        {
            if (!_read.Step(context.Store)) return false;
            if (!_read.HasFailed) return Answer(ref context, StoreStatus.Ok);
            _read.Dispose();
            _read = null;
            _hold = new KeysHold(_store, _session.Database, _keys, this);
            Charge();
            return false;
        }

        if (!_hold!.Step()) return false;
        if (_hold.Failure != null) throw _hold.Failure;
        if (_hold.Status == StoreStatus.OutOfMemory && _kind == ManyKeysKind.DeleteAll)
            return DeleteSingly(ref context);
        return Answer(ref context, _hold.Status);
    }

    /// <summary>Notes some of the keys for a client that keeps copies: all of them before the first is read.</summary>
    /// <returns>False when there are more.</returns>
    private bool TryNoteKeys(ref CommandContext context)
    {
        if (_noted == _keys) return true;
        var engine = context.Server.Tracking;
        int begin = _noted;
        for (var step = new KeyStep(_noted, _keys); step.Takes(_noted); _noted++)
        {
            byte* key = Key(_noted, out int length);
            engine.Remember(_tracking!, context.Store.Key(new ReadOnlySpan<byte>(key, length)));
        }

        engine.EndRemembering(_noted - begin);
        return _noted == _keys;
    }

    private bool Answer(ref CommandContext context, StoreStatus status)
    {
        Debug.Assert(_counted <= _keys, "each key counts once");
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound)) context.Fail(Errors.For(status));
        else if (_kind == ManyKeysKind.CountDistinct && _union.Status != HyperLogLogStatus.Ok)
            context.Fail(Errors.For(_union.Status));
        else if (_kind == ManyKeysKind.CountDistinct) context.Reply.WriteInteger(_union.Cardinality);
        else if (_kind == ManyKeysKind.GetAll) return AnswerAll(ref context);
        else if (_kind == ManyKeysKind.SetAll) context.Reply.WriteOk();
        else if (_kind == ManyKeysKind.SetAllIfNoneExists) context.Reply.WriteInteger(status == StoreStatus.Ok ? 1 : 0);
        else context.Reply.WriteInteger(_counted);
        return true;
    }

    private bool AnswerAll(ref CommandContext context)
    {
        context.Reply.WriteArray(_keys);
        return _reply.Begin(context.Output);
    }

    // Without memory to hold the absent keys, deleting is what helps: each key for itself.
    private bool DeleteSingly(ref CommandContext context)
    {
        for (var step = new KeyStep(_deletedSingly, _keys); step.Takes(_deletedSingly); _deletedSingly++)
        {
            byte* key = Key(_deletedSingly, out int length);
            context.Say("DEL"u8, new ReadOnlySpan<byte>(key, length));      // each by itself
            if (context.Store.Delete(context.Store.Key(new ReadOnlySpan<byte>(key, length)))) _counted++;
        }

        return _deletedSingly == _keys && Answer(ref context, StoreStatus.Ok);
    }

    private void Charge()
    {
        long bytes = (_read?.Bytes ?? 0) + (_hold?.Bytes ?? 0);
        _store.Charge(bytes - _charged);
        _charged = bytes;
    }
}
