using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>SORT: copies the elements, looks up what to sort by, sorts, answers or stores. A short one at once, a long
/// one in steps.</summary>
/// <remarks>
/// The elements are those of one instant. What BY and GET name is read one by one, each as it is then; in a transaction
/// all at its instant. What is stored is stored only if the sorted key has not changed since, else all is done again,
/// at last with all others stopped: SORT of a key onto itself loses no element that another client adds meanwhile.
/// Threads: the session's; where another one needs the sorted key while it is being copied, it copies the rest
/// (<see cref="HeldUse"/>).
/// </remarks>
internal sealed unsafe class SortSteps : ICommandSteps, IHeldUse, IDisposable
{
    /// <summary>More elements are sorted in steps.</summary>
    private const int AtOnceMax = 4096;

    private const int ElementsPerStep = 4096, LookupsPerStep = 512, AttemptsMax = 3;

    private readonly Store _store;
    private readonly SortRequest _request;
    private readonly CollectedReply _reply;
    private readonly SortTexts _elements, _weights;
    private readonly ElementOrder<SortText> _order;
    private readonly int _database;
    private readonly StepsOwner _owner;
    private KeyWatches? _watches;
    private IHeldSteps? _work;
    private ListBuilder _list;
    private NameScratch _name;
    private DataType _type;
    private MemberPlace _place;
    private bool _isLong, _isUnsorted, _isAlphabetic, _hasBy, _isWrong, _isAlone;
    private int _gathered, _toGather, _from, _to, _at, _attempts;
    private long _next;
    private Phase _phase;

    private SortSteps(ref CommandContext context, SortRequest request)
    {
        _store = context.Server.Store;
        _request = request;
        _owner = new StepsOwner(context);
        _database = context.Session.Database;
        _reply = new CollectedReply(_store, context.Server.Options.MaxReplyBytes) { Version = context.Session.Version };
        _elements = new SortTexts(_store);
        _weights = new SortTexts(_store);
        _order = new ElementOrder<SortText>(_store);
        _list = new ListBuilder(_store.Budget);
    }

    private enum Phase : byte
    {
        Begin,
        Gather,
        Weigh,
        Order,
        Write,
        Store,
        PassOn,
    }

    /// <inheritdoc/>
    public bool HasChanged => false;

    /// <inheritdoc/>
    public bool Holds => _work is { IsDone: false };

    /// <inheritdoc/>
    public string WorkName => _owner.Text;

    private bool Stores => _request.StoreAt != 0;

    /// <summary>Does it, or leaves it to later turns. The request is this one's.</summary>
    public static void Run(ref CommandContext context, SortRequest request)
    {
        var sort = new SortSteps(ref context, request);
        try
        {
            // Ends: each step gets on.
            while (!sort.Step(ref context))
            {
                if (!sort._isLong && !sort._isAlone) continue;
                context.Continue(sort);
                return;
            }
        }
        catch
        {
            sort.Dispose();
            throw;
        }
    }

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        bool done = _isAlone ? StepAlone(ref context) : StepOne(ref context);
        if (done) Dispose();
        return done;
    }

    /// <inheritdoc/>
    public bool Use(in HeldKeys held)
    {
        Gather(held.Value(0), ElementsPerStep);
        return _gathered == _toGather;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        Forget();
        _watches?.Dispose();
        _reply.Dispose();
        _request.Dispose();
    }

    /// <summary>Gives up everything that was read.</summary>
    private void Forget()
    {
        _work?.Dispose();
        _work = null;
        _elements.Dispose();
        _weights.Dispose();
        _order.Dispose();
        _list.Dispose();
        _name.Dispose();
    }

    /// <summary>All of it while all others stand still.</summary>
    private bool StepAlone(ref CommandContext context)
    {
        Debug.Assert(_isAlone && _work == null, "who is alone holds nothing in steps");
        if (!context.Store.Presence.TryPauseOthers()) return false;
        try
        {
            _isLong = false;
            // Ends: each step gets on, and nobody is there to change the key.
            while (!StepOne(ref context))
            {
            }
        }
        finally
        {
            context.Store.Presence.EndPause();
        }

        return true;
    }

    private bool StepOne(ref CommandContext context)
    {
        switch (_phase)
        {
            case Phase.Begin:
                return !TryBegin(ref context);
            case Phase.Gather:
                if (!_work!.Step(context.Store)) return false;
                if (_work.Failure is { } failure) throw failure;
                _work.Dispose();
                _work = null;
                return Go(Phase.Weigh);
            case Phase.Weigh:
                if (!Weigh(ref context)) return false;
                if (_isWrong) return Fail(ref context, "ERR One or more scores can't be converted into double"u8);
                if (!_isUnsorted && _isAlphabetic && _to > _from)
                    (_hasBy ? _weights : _elements).BeginOrder(_order, _request.IsDescending, _from, _to);
                return Go(Phase.Order);
            case Phase.Order:
                if (!_isUnsorted && _to > _from && !_order.Step()) return false;
                _at = _from;
                return Go(Phase.Write);
            case Phase.Write:
                return Stores ? Collect(ref context) : Answer(ref context);
            case Phase.Store:
                return StoreList(ref context);
            default:
                return _reply.PassOn(context.Output);
        }
    }

    private bool Go(Phase phase)
    {
        _phase = phase;
        return false;
    }

    private static bool Fail(ref CommandContext context, ReadOnlySpan<byte> error)
    {
        context.Fail(error);
        return true;
    }

    /// <summary>Copies the elements of the key, or begins to.</summary>
    /// <returns>False when an error was answered.</returns>
    private bool TryBegin(ref CommandContext context)
    {
        Argument name = _request[1];
        Key key = context.Store.Key(name.Span);
        if (Stores && !_isAlone && !context.InTransaction)
        {
            _watches ??= new KeyWatches(_store);
            _watches.Dispose();
            _watches.Add(context.Store, _database, key);
        }

        _gathered = _toGather = _at = 0;
        _next = 0;
        _place = default;
        _isWrong = false;
        _type = DataType.List;
        using var held = context.Store.Hold(key, DataType.Any);
        if (held.Status is not (StoreStatus.Ok or StoreStatus.NotFound))
            return !Fail(ref context, Errors.For(held.Status));
        if (held.Status == StoreStatus.Ok) _type = held.Value.Type;
        if (_type is not (DataType.List or DataType.Set or DataType.SortedSet))
            return !Fail(ref context, Errors.WrongType);
        long count = held.Status == StoreStatus.Ok ? CountOf(held.Value) : 0;
        if (count > int.MaxValue / 2) return !Fail(ref context, Errors.ReplyTooLarge);
        Decide((int)count);
        Go(Phase.Weigh);
        if (_toGather == 0) return true;
        if (_toGather > AtOnceMax && context.MayStep && !_isAlone && held.Value.Kind is ValueKind.List
            or ValueKind.Set or ValueKind.SortedSet)
        {
            _isLong = true;
            if (context.TryPostpone()) return !Go(Phase.Gather);
            _work = held.TryBeginUse(this);
            if (_work != null) return !Go(Phase.Gather);
        }

        Gather(held.Value, _toGather);
        return true;
    }

    /// <summary>What is to be copied, and which places are wanted of it then.</summary>
    private void Decide(int count)
    {
        _isUnsorted = _request.IsUnsorted;
        _isAlphabetic = _request.IsAlphabetic;
        _hasBy = _request.HasBy;
        // What has no order of its own is stored in one that does not depend on how it is kept.
        if (_isUnsorted && _type == DataType.Set && Stores)
        {
            _isUnsorted = _hasBy = false;
            _isAlphabetic = true;
        }

        _request.PlacesOf(count, out _from, out _to);
        _toGather = count;
        if (_isUnsorted && _type != DataType.Set)
        {
            _next = _request.IsDescending ? count - 1 - _from : _from;
            _toGather = _to - _from;
            _from = 0;
            _to = _toGather;
        }
        else if (_isUnsorted)
        {
            _toGather = _to;
        }
    }

    private static long CountOf(HeldValue value) => value.Type switch
    {
        DataType.List => new ListView(value.View).Count,
        DataType.Set => new SetView(value.View, in value.Hash).Count,
        _ => new SortedSetView(value.View, in value.Hash).Count,
    };

    private void Gather(HeldValue value, int most)
    {
        Debug.Assert(most > 0 && _gathered == _elements.Count, "elements are gathered in one order");
        int end = Math.Min(_toGather, _gathered + most);
        bool isBackward = _isUnsorted && _request.IsDescending;
        if (_type == DataType.List)
        {
            var walk = new ListView(value.View).GetWalk(_next, isBackward);
            for (; _gathered < end && walk.Next(out var element); _next += isBackward ? -1 : 1, _gathered++)
                _elements.Add(element);
        }
        else if (_type == DataType.Set)
        {
            var walk = new SetView(value.View, in value.Hash).GetWalk(_place);
            for (; _gathered < end && walk.Next(out var member); _gathered++) _elements.Add(member);
            _place = walk.Place;
        }
        else
        {
            var walk = new SortedSetView(value.View, in value.Hash).From(_next, isBackward);
            for (; _gathered < end && walk.Next(out var member, out _); _next += isBackward ? -1 : 1, _gathered++)
                _elements.Add(member);
        }
    }

    /// <summary>Finds what the elements are sorted by.</summary>
    /// <returns>True when all is found.</returns>
    private bool Weigh(ref CommandContext context)
    {
        int count = _elements.Count;
        Debug.Assert(_at <= count && (!_isAlphabetic || _isUnsorted || !_hasBy || _weights.Count == _at),
            "each element is weighed once");
        if (_isUnsorted || (_isAlphabetic && !_hasBy)) return true;
        if (_at == 0 && !_isAlphabetic && count != 0)
            _elements.BeginScoreOrder(_order, _request.IsDescending, Math.Min(_from, _to), _to);
        int end = Math.Min(count, _at + (_hasBy ? LookupsPerStep : ElementsPerStep));
        for (; _at < end; _at++)
        {
            if (!_hasBy) SetScore(_at, ReadSortScore.TryParse(_elements[_at], out double score), score);
            else if (_isAlphabetic) LookUpText(ref context, _at);
            else LookUpScore(ref context, _at);
        }

        return _at == count;
    }

    private void SetScore(int index, bool isNumber, double score)
    {
        Debug.Assert((uint)index < (uint)_elements.Count, "the score is an element's");
        if (!isNumber) _isWrong = true;
        _order.SetScore(index, score);
    }

    private void LookUpScore(ref CommandContext context, int index)
    {
        SortPattern by = _request.By;
        var read = new ReadSortScore(by, context.Store);
        bool isThere = by.TryRead(context.Store, ref _name, _elements[index], ref read);
        SetScore(index, !isThere || !read.IsWrong, isThere ? read.Score : 0);
    }

    private void LookUpText(ref CommandContext context, int index)
    {
        SortPattern by = _request.By;
        var read = new ReadSortText(by, _weights, context.Store);
        if (!by.TryRead(context.Store, ref _name, _elements[index], ref read)) read.Forget();
        if (!read.IsAdded) _weights.AddNone();
    }

    private int ElementAt(int place) => _isUnsorted ? place : (int)_order[place];

    /// <summary>Writes the reply, of a long one a piece.</summary>
    private bool Answer(ref CommandContext context)
    {
        Debug.Assert(_from <= _to && _to <= _elements.Count && _at >= _from, "what is wanted was gathered");
        int values = Math.Max(1, _request.Gets.Length);
        if ((long)(_to - _from) * values > int.MaxValue) return Fail(ref context, Errors.ReplyTooLarge);
        if (!_isLong)
        {
            context.Reply.WriteArray((_to - _from) * values);
            for (; _at < _to; _at++) WriteElement(ref context, ElementAt(_at));
            return true;
        }

        int end = Math.Min(_to, _at + LookupsPerStep);
        for (; _at < end; _at++) WriteElement(ref context, ElementAt(_at));
        _reply.CheckSize();
        if (_at < _to) return false;
        context.Reply.WriteArray((_to - _from) * values);
        Go(Phase.PassOn);
        return _to == _from || _reply.Begin(context.Output);
    }

    private void WriteElement(ref CommandContext context, int index)
    {
        var element = _elements[index];
        if (_request.Gets.Length == 0) NextOutput(ref context).Reply.WriteBulk(element);
        foreach (ref readonly SortPattern get in _request.Gets.AsSpan())
        {
            var output = NextOutput(ref context);
            if (get.IsElement)
            {
                output.Reply.WriteBulk(element);
            }
            else if (get.HasField)
            {
                var read = new ReplySortField(get, output.Reply, context.Store);
                if (get.TryRead(context.Store, ref _name, element, ref read)) continue;
                read.Forget();
                output.Reply.WriteNull();
            }
            else
            {
                var read = new ReplyString(output);
                if (get.TryRead(context.Store, ref _name, element, ref read)) continue;
                read.Forget();
                output.Reply.WriteNull();
            }
        }
    }

    private SessionOutput NextOutput(ref CommandContext context) => _isLong ? _reply.NextOutput() : context.Output;

    /// <summary>Makes the list that is to be stored, of a long one a piece.</summary>
    private bool Collect(ref CommandContext context)
    {
        int end = _isLong ? Math.Min(_to, _at + LookupsPerStep) : _to;
        for (; _at < end; _at++)
            if (!TryCollect(ref context, _elements[ElementAt(_at)])) return Fail(ref context, Errors.OutOfMemory);
        return _at == _to && Go(Phase.Store);
    }

    private bool TryCollect(ref CommandContext context, ReadOnlySpan<byte> element)
    {
        if (_request.Gets.Length == 0) return _list.TryAdd(element);
        foreach (ref readonly SortPattern get in _request.Gets.AsSpan())
        {
            if (get.IsElement)
            {
                if (!_list.TryAdd(element)) return false;
                continue;
            }

            // What is not there is stored as an empty string.
            var read = new ReadSortText(get, _weights, context.Store);
            if (!get.TryRead(context.Store, ref _name, element, ref read)) read.Forget();
            if (!_list.TryAdd(read.IsAdded ? _weights[_weights.Count - 1] : default)) return false;
            read.Forget();
        }

        return true;
    }

    private bool StoreList(ref CommandContext context)
    {
        Debug.Assert(_phase == Phase.Store && Stores, "all is collected");
        KeyList keys = context.Store.Keys;
        keys.Clear();
        Argument target = _request[_request.StoreAt], source = _request[1];
        keys.Add(target.Pointer, target.Length, _database);
        keys.Add(source.Pointer, source.Length, _database);
        using var held = context.Store.Hold(keys);
        if (held.Status != StoreStatus.Ok) return Fail(ref context, Errors.For(held.Status));
        if (_watches is { } watches && !_isAlone && (!watches.AreOf(context.Store.Table) || watches.HaveChanged))
        {
            Forget();
            _isAlone = ++_attempts == AttemptsMax;
            return Go(Phase.Begin);
        }

        long count = _list.Count;
        if (count == 0 && held.Exists(0)) context.CountChanges(1);
        var status = _list.Store(held.Value(0));
        if (status == StoreStatus.Ok) context.Reply.WriteInteger(count);
        else context.Fail(Errors.For(status));
        return true;
    }
}
