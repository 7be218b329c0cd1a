using static Kv.Tests.Models.ModelRegisters;

namespace Kv.Tests.Models;

/// <summary>The index protocol, one shared load or store a step, as HashIndex, IndexGrowth and RecordChanges do
/// it.</summary>
/// <remarks>
/// What happens under a latch or to memory that nobody knows yet is one step where nobody else can tell. All tags are
/// taken to collide. A wait is a thread that cannot step: a state from which no thread can is a deadlock.
/// Memory is sequentially consistent here; what the real one does is argued in docs/concurrency.md.
/// </remarks>
internal sealed class IndexModel
{
    private const byte Torn = 254;

    private readonly ModelProgram _program;
    private readonly ModelCalls _calls;
    private readonly ModelChains _chains;
    private readonly ModelSearch _search;
    private readonly ModelTwoKeys _twoKeys;
    private readonly Flaw _flaw;

    public IndexModel(ModelProgram program, Flaw flaw = Flaw.None)
    {
        _program = program;
        _flaw = flaw;
        _calls = new ModelCalls(program);
        _chains = new ModelChains(program, _calls, flaw);
        _search = new ModelSearch(program, _calls, _chains, flaw);
        _twoKeys = new ModelTwoKeys(_calls, _search, flaw);
    }

    public IReadOnlyList<Call> Calls => _calls.All;

    /// <summary>The value that a key has at first; 0: none.</summary>
    public byte FirstValue(char key) => (byte)(_program.Keys.IndexOf(key) is var at and >= 0 ? 100 + at : 0);

    public ModelState Start()
    {
        ModelState state = _calls.NewState();
        var all = Enumerable.Range(1, _program.Keys.Length).Select(record => (byte)record).ToList();
        for (int i = 0; i < all.Count; i++) state.Low(all[i]) = state.High(all[i]) = (byte)(100 + i);
        _chains.Load(state, all);
        return state;
    }

    public bool IsDone(ModelState state, int thread) => _calls.IsDone(state.Thread(thread), thread);

    /// <summary>What is in the index at the end, by key.</summary>
    public Dictionary<char, byte> Published(ModelState state) => _chains.Published(state);

    /// <summary>Lets a thread take one step, changing the state.</summary>
    /// <returns>False when it has to wait.</returns>
    public bool Step(ModelState s, int thread)
    {
        Span<byte> t = s.Thread(thread);
        if ((Pc)t[PcAt] == Pc.Begin)
        {
            if (_calls.IsFirst(t, thread) && _calls.HintedKey(thread) is var hinted and not '\0' && t[HintAt] == 0)
            {
                t[HintAt] = 255;        // looked ahead; what was found comes in Found
                _search.Search(t, hinted);
            }
            else
            {
                _calls.Start(s, t);
                Begin(s, t);
            }
        }

        if ((Pc)t[PcAt] > Pc.Latch) return StepHolding(s, t);
        bool moved = _search.Step(s, t, out int found);
        if (found >= 0) Found(s, t, (byte)found);
        return moved;
    }

    private bool StepHolding(ModelState s, Span<byte> t)
    {
        switch ((Pc)t[PcAt])
        {
            case Pc.FillFar:
                _chains.FillFar(s, t);
                t[PcAt] = (byte)(_flaw == Flaw.NearClearedFirst ? Pc.FillNear : Pc.PublishFar);
                return true;
            case Pc.PublishFar:
                s.Control(1) = t[FarControlAt];
                t[PcAt] = (byte)(_flaw == Flaw.NearClearedFirst ? Pc.Unsplit : Pc.FillNear);
                return true;
            case Pc.FillNear:
                s.Entry(0, t[LaneAt]) = t[NearAt + t[LaneAt]];
                if (++t[LaneAt] == _program.Entries)
                    t[PcAt] = (byte)(_flaw == Flaw.NearClearedFirst ? Pc.PublishFar : Pc.Unsplit);
                return true;
            case Pc.Unsplit:
                s.Control(0) = _flaw == Flaw.SplitKeepsControl
                    ? t[ControlAt]
                    : (byte)((Bump(t[ControlAt]) & ~(7 << ModelState.OverflowShift)) | ModelState.Depth
                        | t[NearChainAt] << ModelState.OverflowShift);
                t[NearAt] = t[NearAt + 1] = t[NearChainAt] = t[FarControlAt] = 0;
                if ((For)t[ForAt] == For.Sweep) ModelCalls.Finish(s, t, 0, 0);
                else _search.Again(t);
                return true;

            case Pc.LatchFar:
                if ((s.Control(1) & ModelState.Latch) != 0) return false;
                if (_flaw != Flaw.MergeWithoutFarLatch) s.Control(1) |= ModelState.Latch;
                _chains.GatherBoth(s, t);
                t[PcAt] = (byte)Pc.FillWhole;
                return true;
            case Pc.FillWhole:
                s.Entry(0, t[LaneAt]) = t[NearAt + t[LaneAt]];
                if (++t[LaneAt] == _program.Entries) t[PcAt] = (byte)Pc.PublishWhole;
                return true;
            case Pc.PublishWhole:
                t[ControlAt] = (byte)((Bump(t[ControlAt]) & ~(7 << ModelState.OverflowShift | ModelState.Depth))
                    | t[NearChainAt] << ModelState.OverflowShift);
                s.Control(0) = (byte)(t[ControlAt] | ModelState.Latch);
                t[PcAt] = (byte)(_flaw == Flaw.MergeKeepsFar ? Pc.UnlatchWhole : Pc.ClearFar);
                return true;
            case Pc.ClearFar:
                s.Control(1) = 0;
                t[PcAt] = (byte)Pc.UnlatchWhole;
                return true;
            case Pc.UnlatchWhole:
                s.Control(0) = t[ControlAt];
                if (_flaw == Flaw.MergeKeepsFar) s.Control(1) &= unchecked((byte)~ModelState.Latch);
                ModelCalls.Finish(s, t, 0, 0);
                return true;

            case Pc.Scan:
                if (_chains.Existing(s, t) != 0)
                {
                    s.Control(t[HomeAt]) = t[ControlAt];
                    _search.Search(t);
                    return true;
                }

                _chains.PrepareInsert(s, t);
                return true;
            case Pc.LinkChain:
                s.Link(t[LinkAt]) = (byte)(t[FreeAt] - 1);
                t[PcAt] = (byte)Pc.WriteEntry;
                return true;
            case Pc.WriteEntry:
                s.Entry(t[FreeAt], t[FreeAt + 1]) = t[MineAt];
                t[PcAt] = (byte)Pc.UnlatchInserted;
                return true;
            case Pc.UnlatchInserted:
                s.Control(t[HomeAt]) = _flaw == Flaw.InsertKeepsSequence ? t[ControlAt] : Bump(t[ControlAt]);
                Inserted(s, t);
                return true;

            case Pc.WriteReplaced:
                if (!_chains.TrySlotOf(s, t, t[RecordAt], out int slotBucket, out int slotLane))
                    return Fail("the entry of a live record is not in its home bucket");
                s.Entry(slotBucket, slotLane) = t[MineAt];
                t[PcAt] = (byte)Pc.UnlatchReplaced;
                return true;
            case Pc.UnlatchReplaced:
                if ((For)t[ForAt] != For.Replace || _flaw != Flaw.ReplaceWithoutLatch)
                    s.Control(t[HomeAt]) = t[ControlAt];
                if ((For)t[ForAt] == For.Sweep) ModelCalls.Finish(s, t, 0, 0);
                else t[PcAt] = (byte)(_flaw == Flaw.UnlockedBeforeDead ? Pc.EarlyUnlock : Pc.Kill);
                return true;
            case Pc.EarlyUnlock:
                s.Flags(t[RecordAt]) = 0;
                t[PcAt] = (byte)Pc.Kill;
                return true;
            case Pc.WriteRemoved when _flaw == Flaw.DeadBeforeRemoved && s.Flags(t[RecordAt]) != ModelState.Dead:
                s.Flags(t[RecordAt]) = ModelState.Dead;
                return true;
            case Pc.WriteRemoved:
                if (!_chains.TrySlotOf(s, t, t[RecordAt], out slotBucket, out slotLane))
                    return Fail("the entry of a live record is not in its home bucket");
                s.Entry(slotBucket, slotLane) = 0;
                t[PcAt] = (byte)(ModelState.OverflowOf(t[ControlAt]) != 0 ? Pc.Shorten : Pc.UnlatchRemoved);
                return true;
            case Pc.Shorten:
                _chains.Shorten(s, t);
                return true;
            case Pc.UnlatchRemoved:
                s.Control(t[HomeAt]) = _flaw == Flaw.RemoveKeepsSequence ? t[ControlAt] : Bump(t[ControlAt]);
                t[PcAt] = (byte)Pc.Kill;
                return true;
            default:
                return StepRecord(s, t);
        }
    }

    private bool StepRecord(ModelState s, Span<byte> t)
    {
        int record = t[RecordAt];
        switch ((Pc)t[PcAt])
        {
            case Pc.Kill:
                s.Flags(record) = ModelState.Dead;
                Killed(s, t);
                return true;
            case Pc.UnlockCopy:
                s.Flags(t[MineAt]) = 0;
                ModelCalls.Finish(s, t, t[OldAt], 0);
                return true;

            case Pc.Hint:
                record = t[RecordAt] = t[HintAt];
                bool isBusy = (s.Flags(record) & (ModelState.Lock | ModelState.Dead)) != 0;
                if (isBusy && _flaw != Flaw.HintNotChecked) _search.Search(t);
                else if (_calls.OpOf(t) == Op.HintedGet) ToRead(s, t);
                else t[PcAt] = (byte)Pc.TryLock;
                return true;
            case Pc.ReadWord:
                byte flags = s.Flags(record);
                if ((flags & ModelState.Dead) != 0) _search.Search(t);
                else if ((flags & ModelState.Lock) != 0) return false;
                else ToRead(s, t);
                return true;
            case Pc.ReadLow:
                t[LowAt] = s.Low(record);
                t[PcAt] = (byte)Pc.ReadHigh;
                return true;
            case Pc.ReadHigh:
                if (t[LowAt] != s.High(record)) t[LowAt] = Torn;
                if (_calls.OpOf(t) == Op.GetMany) _twoKeys.Saw(t, t[LowAt], t[RecordAt], t[VersionAt]);
                else t[PcAt] = (byte)Pc.Recheck;
                return true;
            case Pc.Recheck:
                if (_flaw == Flaw.ValueNotChecked
                    || (s.Flags(record) == t[FlagsAt] && s.Version(record) == t[VersionAt]))
                    ModelCalls.Finish(s, t, t[LowAt], 0);
                else _search.Search(t);
                return true;

            case Pc.TryLock:
                flags = s.Flags(record);
                if ((flags & ModelState.Dead) != 0)
                {
                    if (_calls.OpOf(t) == Op.Move) ModelCalls.Finish(s, t, 0, 0);
                    else _search.Search(t);
                    return true;
                }

                if ((flags & ModelState.Lock) != 0) return false;
                if (_calls.OpOf(t) != Op.Move || _flaw != Flaw.MovedWithoutLock) s.Flags(record) |= ModelState.Lock;
                Locked(s, t);
                return true;
            case Pc.WriteLow:
                s.Low(record) = ModelCalls.Written(t);
                t[PcAt] = (byte)Pc.WriteHigh;
                return true;
            case Pc.WriteHigh:
                s.High(record) = ModelCalls.Written(t);
                t[PcAt] = (byte)Pc.UnlockWritten;
                return true;
            case Pc.UnlockWritten:
                s.Flags(record) = 0;
                s.Version(record)++;
                ModelCalls.Finish(s, t, t[OldAt], 0);
                return true;

            case Pc.HeldWrite:
                _twoKeys.HeldWrite(s, t);
                return true;
            case Pc.LetGo:
                _twoKeys.LetGo(s, t);
                return true;
            case Pc.ManyCheck:
                _twoKeys.Check(s, t);
                return true;
            default:
                return Fail($"no such step: {(Pc)t[PcAt]}");
        }
    }

    private void Begin(ModelState s, Span<byte> t)
    {
        switch (_calls.OpOf(t))
        {
            case Op.Sweep:
                t[ForAt] = (byte)For.Sweep;
                t[PcAt] = (byte)Pc.NearHome;
                break;
            case Op.Merge:
                t[ForAt] = (byte)For.Merge;
                t[PcAt] = (byte)Pc.NearHome;
                break;
            case Op.Move:
                t[RecordAt] = _calls.FirstRecord(t);
                t[PcAt] = (byte)Pc.TryLock;
                break;
            case Op.HintedGet or Op.HintedSet when t[HintAt] is not (0 or 255):
                t[PcAt] = (byte)Pc.Hint;
                break;
            default:
                _search.Search(t);
                break;
        }
    }

    // What the search of a key came to.
    private void Found(ModelState s, Span<byte> t, byte record)
    {
        if (t[SearchingAt] != 0)
        {
            t[SearchingAt] = 0;
            t[HintAt] = record == 0 ? (byte)255 : record;
            ModelCalls.Clear(t);
            return;
        }

        t[RecordAt] = record;
        t[MaskAt] = t[LaneAt] = t[BucketAt] = t[LinkAt] = 0;
        switch (_calls.OpOf(t))
        {
            case Op.GetMany when record == 0:
                _twoKeys.SawMiss(t);
                break;
            case Op.Get or Op.HintedGet or Op.Delete when record == 0:
                ModelCalls.Finish(s, t, 0, 0);
                break;
            case Op.Get or Op.HintedGet or Op.GetMany:
                t[PcAt] = (byte)Pc.ReadWord;
                break;
            default:
                if (record != 0)
                {
                    t[PcAt] = (byte)Pc.TryLock;
                    break;
                }

                byte mine = t[MineAt] = _calls.Mine(t);
                bool isHeld = _calls.OpOf(t) is Op.HoldSet or Op.HoldRename;
                s.Flags(mine) = isHeld ? (byte)(ModelState.Lock | ModelState.Placeholder) : (byte)0;
                if (!isHeld) s.Low(mine) = s.High(mine) = ModelCalls.Written(t);
                _search.Seek(t, For.Insert);
                break;
        }
    }

    private void Locked(ModelState s, Span<byte> t)
    {
        byte record = t[RecordAt];
        switch (_calls.OpOf(t))
        {
            case Op.HoldSet or Op.HoldRename:
                _twoKeys.Held(s, t, record, s.Low(record));
                break;
            case Op.SetInPlace:
                t[OldAt] = s.Low(record);
                t[PcAt] = (byte)Pc.WriteLow;
                break;
            case Op.Delete:
                t[OldAt] = s.Low(record);
                _search.Seek(t, For.Remove);
                break;
            default:
                byte mine = t[MineAt] = _calls.Mine(t);
                bool isMove = _calls.OpOf(t) == Op.Move;
                t[OldAt] = s.Low(record);
                s.Flags(mine) = isMove ? (byte)0 : ModelState.Lock;
                s.Version(mine) = isMove ? s.Version(record) : (byte)0;
                s.Low(mine) = isMove ? s.Low(record) : ModelCalls.Written(t);
                s.High(mine) = isMove ? s.High(record) : ModelCalls.Written(t);
                _search.Seek(t, For.Replace);
                break;
        }
    }

    private void Inserted(ModelState s, Span<byte> t)
    {
        if (_calls.OpOf(t) is Op.HoldSet or Op.HoldRename) _twoKeys.Held(s, t, t[MineAt], 0);
        else ModelCalls.Finish(s, t, 0, 0);
    }

    private void Killed(ModelState s, Span<byte> t)
    {
        switch (_calls.OpOf(t))
        {
            case Op.HoldSet or Op.HoldRename:
                _twoKeys.LetGoNext(s, t);
                break;
            case Op.Set or Op.HintedSet:
                t[PcAt] = (byte)Pc.UnlockCopy;
                break;
            case Op.Move:
                ModelCalls.Finish(s, t, 0, 0);
                break;
            default:
                ModelCalls.Finish(s, t, t[OldAt], 0);
                break;
        }
    }

    private void ToRead(ModelState s, Span<byte> t)
    {
        t[FlagsAt] = s.Flags(t[RecordAt]);
        t[VersionAt] = s.Version(t[RecordAt]);
        t[PcAt] = (byte)Pc.ReadLow;
    }

    private static byte Bump(byte control)
    {
        if (control >> 5 == 7) Fail("the model's sequence is too short");
        return (byte)((control & ~ModelState.Latch) + ModelState.SequenceOne);
    }

    private static bool Fail(string what) => throw new ModelException(what);
}
