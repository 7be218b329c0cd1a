using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command over more keys than one turn should work on: MGET, EXISTS, PFCOUNT, MSET, MSETNX, DEL and their
/// like. It happens at one instant all the same.</summary>
/// <remarks>
/// Reads look without locking (<see cref="LongRead"/>) and only hold the keys when writers spoil that; writes hold them
/// (<see cref="LongHold"/>). The arguments are copied, those in blocks stay in the session's. Threads: the session's;
/// where another one finishes the hold, it works on what is here, behind the hold's claim.
/// </remarks>
internal sealed unsafe class LongCommand : ICommandSteps, ILongWork, IDisposable
{
    /// <summary>A command of more keys is done in steps.</summary>
    public const int KeysMax = LongHold.KeysPerStep;

    private readonly Store _store;
    private readonly Session _session;
    private readonly HeldCommand _command;
    private readonly int _keys, _stride;
    private readonly LongReply _reply;
    private readonly LongKind _kind;
    private readonly StepsOwner _owner;
    private RegisterUnion _union;
    private LongRead? _read;
    private LongHold? _hold;
    private long _charged;
    private int _counted, _deletedSingly;

    public LongCommand(ref CommandContext context, LongKind kind)
    {
        _store = context.Server.Store;
        _session = context.Session;
        _kind = kind;
        _owner = new StepsOwner(context);
        _stride = kind is LongKind.SetAll or LongKind.SetAllIfNoneExists ? 2 : 1;
        _keys = (context.Args.Count - 1) / _stride;
        _reply = new LongReply(_store, context.Server.Options.MaxReplyBytes) { Version = _session.Version };
        _command = context.Args.Keep(_store);
        if (kind == LongKind.CountDistinct) _union = new RegisterUnion(new byte[HyperLogLog.Registers]);
        if (Action == LongAction.Read) _read = new LongRead(_store, _session.Database, _keys, this);
        else _hold = new LongHold(_store, _session.Database, _keys, this);
        Charge();
    }

    /// <inheritdoc/>
    public LongAction Action => _kind switch
    {
        LongKind.GetAll or LongKind.Count or LongKind.CountDistinct => LongAction.Read,
        LongKind.DeleteAll => LongAction.Delete,
        _ => LongAction.Set,
    };

    /// <inheritdoc/>
    public bool Holds => _hold is { HasKeys: true };

    /// <inheritdoc/>
    public string WorkName => _owner.Text;

    /// <inheritdoc/>
    public bool OnlyIfNoneExists => _kind == LongKind.SetAllIfNoneExists;

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
        _hold?.Dispose();
        _read?.Dispose();
        _reply.Dispose();
        _command.Dispose();
        _hold = null;
        _read = null;
        _store.Charge(-_charged);
        _charged = 0;
    }

    /// <inheritdoc/>
    public byte* Key(int index, out int length)
    {
        Argument* argument = _command.Items + 1 + ((long)index * _stride);
        length = argument->Length;
        return argument->Pointer;
    }

    /// <inheritdoc/>
    public int ValueBytes(int index) => _stride == 2 ? _command.Items[2 + (2L * index)].Length : 0;

    /// <inheritdoc/>
    public ReadOnlySpan<byte> Value(int index, out Block block)
    {
        Argument argument = _command.Items[2 + (2L * index)];
        block = argument.IsInBlock ? _session.Blocks!.Find(argument.Pointer) : default;
        return argument.Span;
    }

    /// <inheritdoc/>
    public void Restart()
    {
        _counted = 0;
        if (_kind == LongKind.CountDistinct) _union.Restart();
        _reply.Restart();
    }

    /// <inheritdoc/>
    public void Read(int index, in ValueView value)
    {
        if (_kind == LongKind.GetAll) _reply.Write(value);
        else if (_kind == LongKind.CountDistinct) _union.Read(index, value);
        else if (value.Exists) _counted++;
    }

    /// <inheritdoc/>
    public void CountDeleted() => _counted++;

    private bool Work(ref CommandContext context)
    {
        if (_read != null)
        {
            if (!_read.Step(context.Store)) return false;
            if (!_read.HasFailed) return Answer(ref context, StoreStatus.Ok);
            _read.Dispose();
            _read = null;
            _hold = new LongHold(_store, _session.Database, _keys, this);
            Charge();
            return false;
        }

        if (!_hold!.Step()) return false;
        if (_hold.Failure != null) throw _hold.Failure;
        if (_hold.Status == StoreStatus.OutOfMemory && _kind == LongKind.DeleteAll) return DeleteSingly(ref context);
        return Answer(ref context, _hold.Status);
    }

    private bool Answer(ref CommandContext context, StoreStatus status)
    {
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound)) context.Fail(Errors.For(status));
        else if (_kind == LongKind.CountDistinct && _union.Status != HyperLogLogStatus.Ok)
            context.Fail(Errors.For(_union.Status));
        else if (_kind == LongKind.CountDistinct) context.Reply.WriteInteger(_union.Cardinality);
        else if (_kind == LongKind.GetAll) return AnswerAll(ref context);
        else if (_kind == LongKind.SetAll) context.Reply.WriteOk();
        else if (_kind == LongKind.SetAllIfNoneExists) context.Reply.WriteInteger(status == StoreStatus.Ok ? 1 : 0);
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
        int end = Math.Min(_keys, _deletedSingly + KeysMax);
        for (; _deletedSingly < end; _deletedSingly++)
        {
            byte* key = Key(_deletedSingly, out int length);
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
