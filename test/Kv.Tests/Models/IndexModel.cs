namespace Kv.Tests.Models;

/// <summary>The index protocol, one shared load or store a step, as HashIndex, IndexGrowth and RecordChanges do it.</summary>
/// <remarks>
/// What happens under a latch or to memory that nobody knows yet is one step where nobody else can tell. All tags are
/// taken to collide. A wait is a thread that cannot step: a state from which no thread can is a deadlock.
/// Memory is sequentially consistent here; what the real one does is argued in docs/concurrency.md.
/// </remarks>
internal sealed class IndexModel
{
    // Where a thread is. H..: which bucket is home. F..: searching. L..: latching. S..: splitting. The rest by their names.
    private enum Pc : byte
    {
        Begin, FarHome, NearHome, Match, Reload, Next, Validate, Spin, Latch,
        FillFar, PublishFar, FillNear, Unsplit,
        Scan, LinkChain, WriteEntry, UnlatchInserted, WriteReplaced, UnlatchReplaced, WriteRemoved, Shorten, UnlatchRemoved,
        ReadWord, ReadLow, ReadHigh, Recheck, TryLock, Kill, UnlockCopy, WriteLow, WriteHigh, UnlockWritten,
        Hint, HeldWrite, LetGo, ManyCheck, EarlyUnlock,
    }

    // What the latch is wanted for.
    private enum For : byte { Nothing, Insert, Replace, Remove, Sweep }

    private const int CallAt = 0, PcAt = 1, ForAt = 2, HomeAt = 3, ControlAt = 4, BucketAt = 5, LaneAt = 6, MaskAt = 7,
        LinkAt = 8, RecordAt = 9, MineAt = 10, LowAt = 11, FlagsAt = 12, VersionAt = 13, KeyAt = 14, HeldAt = 15, OldAt = 17,
        NearAt = 19, NearChainAt = 21, HintAt = 22, SeenAt = 23, SeenWordAt = 25, FarControlAt = 27, FreeAt = 28, SearchingAt = 30;

    private const byte Torn = 254, SeenMiss = 128;

    private readonly ModelProgram _program;
    private readonly Flaw _flaw;
    private readonly List<char> _keyOf = ['\0'];
    private readonly int[] _firstCall, _firstRecord;
    private readonly Call[] _calls;

    public IndexModel(ModelProgram program, Flaw flaw = Flaw.None)
    {
        _program = program;
        _flaw = flaw;
        _calls = [.. program.Threads.SelectMany(calls => calls)];
        _firstCall = new int[program.Threads.Length];
        for (int i = 1; i < _firstCall.Length; i++) _firstCall[i] = _firstCall[i - 1] + program.Threads[i - 1].Length;
        _keyOf.AddRange(program.Keys);
        _firstRecord = new int[_calls.Length];
        for (int i = 0; i < _calls.Length; i++)
        {
            _firstRecord[i] = _keyOf.Count;
            _keyOf.Add(_calls[i].Key);
            if (_calls[i].Other != '\0') _keyOf.Add(_calls[i].Other);
        }
    }

    public IReadOnlyList<Call> Calls => _calls;

    /// <summary>The value that a key has at first; 0: none.</summary>
    public byte FirstValue(char key) => (byte)(_program.Keys.IndexOf(key) is var at and >= 0 ? 100 + at : 0);

    public ModelState Start()
    {
        var state = new ModelState(_program.Entries, _keyOf.Count, _program.Threads.Length, _calls.Length);
        var all = Enumerable.Range(1, _program.Keys.Length).Select(record => (byte)record).ToList();
        for (int i = 0; i < all.Count; i++) state.Low(all[i]) = state.High(all[i]) = (byte)(100 + i);
        byte chain = FillChain(state, all);
        for (int lane = 0; lane < Math.Min(all.Count, _program.Entries); lane++) state.Entry(0, lane) = all[lane];
        state.Control(0) = (byte)(chain << ModelState.OverflowShift);
        for (int thread = 0; thread < _firstCall.Length; thread++) state.Thread(thread)[CallAt] = (byte)_firstCall[thread];
        return state;
    }

    public bool IsDone(ModelState state, int thread) =>
        state.Thread(thread)[CallAt] == _firstCall[thread] + _program.Threads[thread].Length;

    /// <summary>Lets a thread take one step, changing the state.</summary>
    /// <returns>False when it has to wait.</returns>
    public bool Step(ModelState s, int thread)
    {
        Span<byte> t = s.Thread(thread);
        if ((Pc)t[PcAt] == Pc.Begin)
        {
            if (t[CallAt] == _firstCall[thread] && HintedKey(thread) is var hinted and not '\0' && t[HintAt] == 0)
            {
                t[HintAt] = 255;        // looked ahead; what was found comes in Found
                Search(t, hinted);
            }
            else
            {
                Span<byte> call = s.Call(t[CallAt]);
                for (int i = 0; i < _calls.Length; i++)
                    if (s.Call(i)[0] != 0) call[1] |= (byte)(1 << i);
                Begin(s, t);
            }
        }

        switch ((Pc)t[PcAt])
        {
            case Pc.FarHome:
                t[ControlAt] = s.Control(1);
                if ((t[ControlAt] & ModelState.Depth) == 0) t[PcAt] = (byte)Pc.NearHome;
                else AtHome(s, t, 1);
                return true;
            case Pc.NearHome:
                t[ControlAt] = s.Control(0);
                if ((t[ControlAt] & ModelState.Depth) != 0 && IsFar(KeyOf(t))) t[PcAt] = (byte)Pc.FarHome;
                else AtHome(s, t, 0);
                return true;
            case Pc.Match:
                byte seen = s.Entry(t[BucketAt], t[LaneAt]);
                if (seen != 0 && _keyOf[seen] == KeyOf(t)) t[MaskAt] |= (byte)(1 << t[LaneAt]);
                if (++t[LaneAt] == _program.Entries) t[PcAt] = (byte)(t[MaskAt] != 0 ? Pc.Reload : Pc.Next);
                return true;
            case Pc.Reload:
                int lane = System.Numerics.BitOperations.TrailingZeroCount(t[MaskAt]);
                t[MaskAt] &= (byte)(t[MaskAt] - 1);
                byte entry = s.Entry(t[BucketAt], lane);
                if (entry != 0 && _keyOf[entry] == KeyOf(t)) Found(s, t, entry);
                else if (t[MaskAt] == 0) t[PcAt] = (byte)Pc.Next;
                return true;
            case Pc.Next when t[LinkAt] != 0:
                t[BucketAt] = (byte)(1 + t[LinkAt]);
                t[LinkAt] = s.Link(t[BucketAt]);
                t[LaneAt] = 0;
                t[PcAt] = (byte)Pc.Match;
                return true;
            case Pc.Next:
                t[PcAt] = (byte)Pc.Validate;
                goto case Pc.Validate;
            case Pc.Validate:
                byte now = s.Control(t[HomeAt]);
                bool isLatched = (t[ControlAt] & ModelState.Latch) != 0;
                if (_flaw == Flaw.MissNotValidated || (now == t[ControlAt] && (!isLatched || _flaw == Flaw.MissValidatedUnderLatch)))
                    Found(s, t, 0);
                else if (now == t[ControlAt]) t[PcAt] = (byte)Pc.Spin;      // latched: until it is not
                else Again(t);
                return true;
            case Pc.Spin:
                if (s.Control(t[HomeAt]) == t[ControlAt]) return false;
                Again(t);
                return true;
            case Pc.Latch:
                return StepLatch(s, t);
            default:
                return StepHolding(s, t);
        }
    }

    private bool StepLatch(ModelState s, Span<byte> t)
    {
        int home = t[HomeAt];
        if ((t[ControlAt] & ModelState.Latch) != 0)
        {
            if (s.Control(home) == t[ControlAt]) return false;
            Again(t);
            return true;
        }

        if (s.Control(home) != t[ControlAt])
        {
            Again(t);
            return true;
        }

        bool free = (For)t[ForAt] == For.Insert && _flaw == Flaw.InsertWithoutLatch
            || (For)t[ForAt] == For.Replace && _flaw == Flaw.ReplaceWithoutLatch;
        if (!free) s.Control(home) |= ModelState.Latch;
        if (!free && _program.Growing && home == 0 && (t[ControlAt] & ModelState.Depth) == 0)
        {
            t[PcAt] = (byte)Pc.FillFar;
            return true;
        }

        t[PcAt] = (byte)((For)t[ForAt] switch
        {
            For.Insert => Pc.Scan,
            For.Replace => Pc.WriteReplaced,
            For.Remove => Pc.WriteRemoved,
            _ => Pc.UnlatchReplaced,
        });
        return true;
    }

    private bool StepHolding(ModelState s, Span<byte> t)
    {
        switch ((Pc)t[PcAt])
        {
            case Pc.FillFar:
                FillFar(s, t);
                t[PcAt] = (byte)(_flaw == Flaw.NearClearedFirst ? Pc.FillNear : Pc.PublishFar);
                return true;
            case Pc.PublishFar:
                s.Control(1) = t[FarControlAt];
                t[PcAt] = (byte)(_flaw == Flaw.NearClearedFirst ? Pc.Unsplit : Pc.FillNear);
                return true;
            case Pc.FillNear:
                s.Entry(0, t[LaneAt]) = t[NearAt + t[LaneAt]];
                if (++t[LaneAt] == _program.Entries) t[PcAt] = (byte)(_flaw == Flaw.NearClearedFirst ? Pc.PublishFar : Pc.Unsplit);
                return true;
            case Pc.Unsplit:
                s.Control(0) = _flaw == Flaw.SplitKeepsControl
                    ? t[ControlAt]
                    : (byte)((Bump(t[ControlAt]) & ~(7 << ModelState.OverflowShift)) | ModelState.Depth | t[NearChainAt] << ModelState.OverflowShift);
                t[NearAt] = t[NearAt + 1] = t[NearChainAt] = t[FarControlAt] = 0;
                if ((For)t[ForAt] == For.Sweep) Finish(s, t, 0, 0);
                else Again(t);
                return true;

            case Pc.Scan:
                if (Existing(s, t) != 0)
                {
                    s.Control(t[HomeAt]) = t[ControlAt];
                    Search(t);
                    return true;
                }

                PrepareInsert(s, t);
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
                if (!TrySlotOf(s, t, t[RecordAt], out int slotBucket, out int slotLane)) return Fail("the entry of a live record is not in its home bucket");
                s.Entry(slotBucket, slotLane) = t[MineAt];
                t[PcAt] = (byte)Pc.UnlatchReplaced;
                return true;
            case Pc.UnlatchReplaced:
                if ((For)t[ForAt] != For.Replace || _flaw != Flaw.ReplaceWithoutLatch) s.Control(t[HomeAt]) = t[ControlAt];
                if ((For)t[ForAt] == For.Sweep) Finish(s, t, 0, 0);
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
                if (!TrySlotOf(s, t, t[RecordAt], out slotBucket, out slotLane)) return Fail("the entry of a live record is not in its home bucket");
                s.Entry(slotBucket, slotLane) = 0;
                t[PcAt] = (byte)(ModelState.OverflowOf(t[ControlAt]) != 0 ? Pc.Shorten : Pc.UnlatchRemoved);
                return true;
            case Pc.Shorten:
                Shorten(s, t);
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
                Finish(s, t, t[OldAt], 0);
                return true;

            case Pc.Hint:
                record = t[RecordAt] = t[HintAt];
                bool isBusy = (s.Flags(record) & (ModelState.Lock | ModelState.Dead)) != 0;
                if (isBusy && _flaw != Flaw.HintNotChecked) Search(t);
                else if (OpOf(t) == Op.HintedGet) ToRead(s, t);
                else t[PcAt] = (byte)Pc.TryLock;
                return true;
            case Pc.ReadWord:
                byte flags = s.Flags(record);
                if ((flags & ModelState.Dead) != 0) Search(t);
                else if ((flags & ModelState.Lock) != 0) return false;
                else ToRead(s, t);
                return true;
            case Pc.ReadLow:
                t[LowAt] = s.Low(record);
                t[PcAt] = (byte)Pc.ReadHigh;
                return true;
            case Pc.ReadHigh:
                if (t[LowAt] != s.High(record)) t[LowAt] = Torn;
                if (OpOf(t) == Op.GetMany) return SawMany(t, t[LowAt], t[RecordAt], t[VersionAt]);
                t[PcAt] = (byte)Pc.Recheck;
                return true;
            case Pc.Recheck:
                if (_flaw == Flaw.ValueNotChecked || (s.Flags(record) == t[FlagsAt] && s.Version(record) == t[VersionAt]))
                    Finish(s, t, t[LowAt], 0);
                else Search(t);
                return true;

            case Pc.TryLock:
                flags = s.Flags(record);
                if ((flags & ModelState.Dead) != 0)
                {
                    if (OpOf(t) == Op.Move) Finish(s, t, 0, 0);
                    else Search(t);
                    return true;
                }

                if ((flags & ModelState.Lock) != 0) return false;
                if (OpOf(t) != Op.Move || _flaw != Flaw.MovedWithoutLock) s.Flags(record) |= ModelState.Lock;
                Locked(s, t);
                return true;
            case Pc.WriteLow:
                s.Low(record) = Written(t);
                t[PcAt] = (byte)Pc.WriteHigh;
                return true;
            case Pc.WriteHigh:
                s.High(record) = Written(t);
                t[PcAt] = (byte)Pc.UnlockWritten;
                return true;
            case Pc.UnlockWritten:
                s.Flags(record) = 0;
                s.Version(record)++;
                Finish(s, t, t[OldAt], 0);
                return true;

            case Pc.HeldWrite:
                HeldWrite(s, t);
                return true;
            case Pc.LetGo:
                LetGo(s, t);
                return true;
            case Pc.ManyCheck:
                ManyCheck(s, t);
                return true;
            default:
                return Fail($"no such step: {(Pc)t[PcAt]}");
        }
    }

    private void Begin(ModelState s, Span<byte> t)
    {
        switch (OpOf(t))
        {
            case Op.Sweep:
                t[ForAt] = (byte)For.Sweep;
                t[PcAt] = (byte)Pc.NearHome;
                break;
            case Op.Move:
                t[RecordAt] = (byte)(1 + _program.Keys.IndexOf(_calls[t[CallAt]].Key));
                t[PcAt] = (byte)Pc.TryLock;
                break;
            case Op.HintedGet or Op.HintedSet when t[HintAt] is not (0 or 255):
                t[PcAt] = (byte)Pc.Hint;
                break;
            default:
                Search(t);
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
            Clear(t);
            return;
        }

        t[RecordAt] = record;
        t[MaskAt] = t[LaneAt] = t[BucketAt] = t[LinkAt] = 0;
        switch (OpOf(t))
        {
            case Op.GetMany when record == 0:
                SawMany(t, 0, (byte)(SeenMiss | t[HomeAt]), t[ControlAt]);
                break;
            case Op.Get or Op.HintedGet or Op.Delete when record == 0:
                Finish(s, t, 0, 0);
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

                byte mine = t[MineAt] = Mine(t);
                bool isHeld = OpOf(t) is Op.HoldSet or Op.HoldRename;
                s.Flags(mine) = isHeld ? (byte)(ModelState.Lock | ModelState.Placeholder) : (byte)0;
                if (!isHeld) s.Low(mine) = s.High(mine) = Written(t);
                Seek(t, For.Insert);
                break;
        }
    }

    private void Locked(ModelState s, Span<byte> t)
    {
        byte record = t[RecordAt];
        switch (OpOf(t))
        {
            case Op.HoldSet or Op.HoldRename:
                Held(s, t, record, s.Low(record));
                break;
            case Op.SetInPlace:
                t[OldAt] = s.Low(record);
                t[PcAt] = (byte)Pc.WriteLow;
                break;
            case Op.Delete:
                t[OldAt] = s.Low(record);
                Seek(t, For.Remove);
                break;
            default:
                byte mine = t[MineAt] = Mine(t);
                bool isMove = OpOf(t) == Op.Move;
                t[OldAt] = s.Low(record);
                s.Flags(mine) = isMove ? (byte)0 : ModelState.Lock;
                s.Version(mine) = isMove ? s.Version(record) : (byte)0;
                s.Low(mine) = isMove ? s.Low(record) : Written(t);
                s.High(mine) = isMove ? s.High(record) : Written(t);
                Seek(t, For.Replace);
                break;
        }
    }

    private void Inserted(ModelState s, Span<byte> t)
    {
        if (OpOf(t) is Op.HoldSet or Op.HoldRename) Held(s, t, t[MineAt], 0);
        else Finish(s, t, 0, 0);
    }

    private void Killed(ModelState s, Span<byte> t)
    {
        switch (OpOf(t))
        {
            case Op.HoldSet or Op.HoldRename:
                LetGoNext(s, t);
                break;
            case Op.Set or Op.HintedSet:
                t[PcAt] = (byte)Pc.UnlockCopy;
                break;
            case Op.Move:
                Finish(s, t, 0, 0);
                break;
            default:
                Finish(s, t, t[OldAt], 0);
                break;
        }
    }

    private void Held(ModelState s, Span<byte> t, byte record, byte old)
    {
        t[HeldAt + t[KeyAt]] = record;
        t[OldAt + t[KeyAt]] = old;
        t[MineAt] = t[RecordAt] = 0;
        if (_flaw == Flaw.HeldOneByOne)
        {
            // Locks, writes and lets go key by key.
            if (OpOf(t) == Op.HoldSet) s.Low(record) = s.High(record) = Written(t);
            s.Flags(record) = 0;
            s.Version(record)++;
            if (t[KeyAt] == 1) Finish(s, t, t[OldAt], t[OldAt + 1]);
        }

        if ((Pc)t[PcAt] == Pc.Begin) return;
        t[KeyAt]++;
        if (t[KeyAt] == 1)
        {
            Search(t);
            return;
        }

        t[KeyAt] = 0;
        t[PcAt] = (byte)Pc.HeldWrite;
    }

    private void HeldWrite(ModelState s, Span<byte> t)
    {
        int key = t[KeyAt];
        byte record = t[HeldAt + key];
        if (OpOf(t) == Op.HoldSet)
        {
            s.Low(record) = s.High(record) = Written(t);
            s.Flags(record) = ModelState.Lock;
        }
        else if (t[OldAt] != 0)
        {
            byte to = t[HeldAt + 1];
            if (key == 0) s.Low(to) = s.High(to) = t[OldAt];
            s.Flags(t[HeldAt + key]) = key == 0 ? (byte)(ModelState.Lock | ModelState.Placeholder) : ModelState.Lock;
        }

        if (++t[KeyAt] < 2) return;
        t[KeyAt] = 0;
        t[PcAt] = (byte)Pc.LetGo;
    }

    private void LetGo(ModelState s, Span<byte> t)
    {
        byte record = t[HeldAt + t[KeyAt]];
        if ((s.Flags(record) & ModelState.Placeholder) != 0)
        {
            t[RecordAt] = record;
            Seek(t, For.Remove);
            return;
        }

        s.Flags(record) = 0;
        s.Version(record)++;
        LetGoNext(s, t);
    }

    private void LetGoNext(ModelState s, Span<byte> t)
    {
        if (++t[KeyAt] == 2) Finish(s, t, t[OldAt], t[OldAt + 1]);
        else t[PcAt] = (byte)Pc.LetGo;
    }

    private bool SawMany(Span<byte> t, byte value, byte seen, byte word)
    {
        int key = t[KeyAt];
        t[OldAt + key] = value;
        t[SeenAt + key] = seen;
        t[SeenWordAt + key] = word;
        t[RecordAt] = t[LowAt] = t[FlagsAt] = t[VersionAt] = t[HomeAt] = t[ControlAt] = 0;
        if (key == 0)
        {
            t[KeyAt] = 1;
            Search(t);
        }
        else
        {
            t[KeyAt] = 0;
            t[PcAt] = (byte)Pc.ManyCheck;
        }

        return true;
    }

    private void ManyCheck(ModelState s, Span<byte> t)
    {
        int key = t[KeyAt];
        byte seen = t[SeenAt + key], word = t[SeenWordAt + key];
        bool holds = (seen & SeenMiss) != 0
            ? s.Control(seen & ~SeenMiss) == word
            : s.Flags(seen) == 0 && s.Version(seen) == word;
        if (!holds && _flaw != Flaw.ManyNotChecked)
        {
            t[KeyAt] = 0;
            t[OldAt] = t[OldAt + 1] = t[SeenAt] = t[SeenAt + 1] = t[SeenWordAt] = t[SeenWordAt + 1] = 0;
            Search(t);
            return;
        }

        if (++t[KeyAt] == 2) Finish(s, t, t[OldAt], t[OldAt + 1]);
    }

    private void ToRead(ModelState s, Span<byte> t)
    {
        t[FlagsAt] = s.Flags(t[RecordAt]);
        t[VersionAt] = s.Version(t[RecordAt]);
        t[PcAt] = (byte)Pc.ReadLow;
    }

    private void Search(Span<byte> t, char hinted = '\0')
    {
        if (hinted != '\0') t[SearchingAt] = (byte)hinted;
        Seek(t, For.Nothing);
        t[RecordAt] = t[MineAt] = t[LowAt] = t[FlagsAt] = t[VersionAt] = 0;
    }

    private void Seek(Span<byte> t, For purpose)
    {
        t[ForAt] = (byte)purpose;
        Again(t);
    }

    // From which bucket a search or a latching begins: the newest that the key could be in.
    private void Again(Span<byte> t)
    {
        t[HomeAt] = t[ControlAt] = t[BucketAt] = t[LaneAt] = t[MaskAt] = t[LinkAt] = t[FreeAt] = t[FreeAt + 1] = 0;
        t[PcAt] = (byte)((For)t[ForAt] != For.Sweep && IsFar(KeyOf(t)) ? Pc.FarHome : Pc.NearHome);
    }

    private void AtHome(ModelState s, Span<byte> t, byte home)
    {
        t[HomeAt] = t[BucketAt] = home;
        t[LinkAt] = (byte)ModelState.OverflowOf(t[ControlAt]);
        t[LaneAt] = t[MaskAt] = 0;
        if ((For)t[ForAt] == For.Sweep && (t[ControlAt] & ModelState.Depth) != 0) Finish(s, t, 0, 0);
        else t[PcAt] = (byte)((For)t[ForAt] == For.Nothing ? Pc.Match : Pc.Latch);
    }

    private byte Existing(ModelState s, Span<byte> t)
    {
        for (int bucket = t[HomeAt], link = ModelState.OverflowOf(t[ControlAt]); ;)
        {
            for (int lane = 0; lane < _program.Entries; lane++)
                if (s.Entry(bucket, lane) is var entry and not 0 && _keyOf[entry] == KeyOf(t)) return entry;
            if (link == 0) return 0;
            bucket = 1 + link;
            link = s.Link(bucket);
        }
    }

    private void PrepareInsert(ModelState s, Span<byte> t)
    {
        int bucket = t[HomeAt], link = ModelState.OverflowOf(t[ControlAt]);
        while (true)
        {
            for (int lane = 0; lane < _program.Entries; lane++)
            {
                if (s.Entry(bucket, lane) != 0) continue;
                (t[FreeAt], t[FreeAt + 1]) = ((byte)bucket, (byte)lane);
                t[PcAt] = (byte)Pc.WriteEntry;
                return;
            }

            if (link == 0) break;
            bucket = 1 + link;
            link = s.Link(bucket);
        }

        byte chain = TakeChain(s);
        t[FreeAt] = (byte)(1 + chain);
        if (bucket == t[HomeAt])
        {
            t[ControlAt] |= (byte)(chain << ModelState.OverflowShift);
            t[PcAt] = (byte)Pc.WriteEntry;
        }
        else
        {
            t[LinkAt] = (byte)bucket;
            t[PcAt] = (byte)Pc.LinkChain;
        }
    }

    private bool TrySlotOf(ModelState s, Span<byte> t, byte record, out int bucket, out int lane)
    {
        bucket = t[HomeAt];
        for (int link = ModelState.OverflowOf(t[ControlAt]); ;)
        {
            for (lane = 0; lane < _program.Entries; lane++)
                if (s.Entry(bucket, lane) == record) return true;
            if (link == 0) return false;
            bucket = 1 + link;
            link = s.Link(bucket);
        }
    }

    // Moves an entry of the chain's last bucket up, or takes the bucket off when all have been moved: whenever there is room,
    // which is more often than the code does it.
    private void Shorten(ModelState s, Span<byte> t)
    {
        int before = t[HomeAt], last = 1 + ModelState.OverflowOf(t[ControlAt]);
        var kept = new List<byte>();
        var room = new List<(int Bucket, int Lane)>();
        Look(s, before);
        for (; s.Link(last) != 0; last = 1 + s.Link(last))
        {
            Look(s, last);
            before = last;
        }

        var moving = Enumerable.Range(0, _program.Entries).Select(lane => s.Entry(last, lane)).Where(entry => entry != 0 && !kept.Contains(entry)).ToList();
        if (moving.Count > room.Count)
        {
            t[PcAt] = (byte)Pc.UnlatchRemoved;
        }
        else if (moving.Count > 0)
        {
            s.Entry(room[0].Bucket, room[0].Lane) = moving[0];
            if (_flaw == Flaw.MovedUpNotKept)
                for (int lane = 0; lane < _program.Entries; lane++)
                    if (s.Entry(last, lane) == moving[0]) s.Entry(last, lane) = 0;
        }
        else
        {
            if (before == t[HomeAt]) t[ControlAt] &= unchecked((byte)~(7 << ModelState.OverflowShift));
            else s.Link(before) = 0;
            t[PcAt] = (byte)Pc.UnlatchRemoved;
        }

        void Look(ModelState state, int bucket)
        {
            for (int lane = 0; lane < _program.Entries; lane++)
            {
                if (state.Entry(bucket, lane) is var entry and not 0) kept.Add(entry);
                else room.Add((bucket, lane));
            }
        }
    }

    private void FillFar(ModelState s, Span<byte> t)
    {
        var near = new List<byte>();
        var far = new List<byte>();
        for (int bucket = 0, link = ModelState.OverflowOf(t[ControlAt]); ;)
        {
            for (int lane = 0; lane < _program.Entries; lane++)
            {
                byte entry = s.Entry(bucket, lane);
                if (entry != 0) (char.ToUpperInvariant(_keyOf[entry]) == 'B' ? far : near).Add(entry);
            }

            if (link == 0) break;
            bucket = 1 + link;
            link = s.Link(bucket);
        }

        t[NearChainAt] = FillChain(s, near);
        t[FarControlAt] = (byte)(ModelState.Depth | FillChain(s, far) << ModelState.OverflowShift);
        for (int lane = 0; lane < _program.Entries; lane++)
        {
            s.Entry(1, lane) = lane < far.Count ? far[lane] : (byte)0;
            t[NearAt + lane] = lane < near.Count ? near[lane] : (byte)0;
        }

        t[LaneAt] = 0;
    }

    /// <summary>Puts what does not fit into the first bucket into chained ones.</summary>
    private byte FillChain(ModelState s, List<byte> all)
    {
        byte first = 0, last = 0;
        for (int from = _program.Entries; from < all.Count; from += _program.Entries)
        {
            byte chain = TakeChain(s);
            if (first == 0) first = chain;
            else s.Link(1 + last) = chain;
            last = chain;
            for (int lane = 0; lane < _program.Entries && from + lane < all.Count; lane++) s.Entry(1 + chain, lane) = all[from + lane];
        }

        return first;
    }

    // A chain's bucket is used again only after an epoch: never within a run.
    private static byte TakeChain(ModelState s)
    {
        if (s.ChainsTaken == ModelState.Chains) Fail("the model has too few overflow buckets");
        return ++s.ChainsTaken;
    }

    private void Finish(ModelState s, Span<byte> t, byte first, byte second)
    {
        Span<byte> call = s.Call(t[CallAt]);
        (call[0], call[2], call[3]) = (1, first, second);
        t[CallAt]++;
        Clear(t);
    }

    private static void Clear(Span<byte> t)
    {
        byte call = t[CallAt], hint = t[HintAt];
        t.Clear();
        (t[CallAt], t[HintAt]) = (call, hint);
    }

    private char HintedKey(int thread)
    {
        foreach (Call call in _program.Threads[thread])
            if (call.Op is Op.HintedGet or Op.HintedSet) return call.Key;
        return '\0';
    }

    private Op OpOf(Span<byte> t) => _calls[t[CallAt]].Op;

    private char KeyOf(Span<byte> t)
    {
        if (t[SearchingAt] != 0) return (char)t[SearchingAt];
        Call call = _calls[t[CallAt]];
        return t[KeyAt] == 0 ? call.Key : call.Other;
    }

    private bool IsFar(char key) => _program.Growing && char.ToUpperInvariant(key) == 'B';

    private byte Mine(Span<byte> t) => (byte)(_firstRecord[t[CallAt]] + t[KeyAt]);

    private static byte Written(Span<byte> t) => (byte)(t[CallAt] + 1);

    private static byte Bump(byte control)
    {
        if (control >> 5 == 7) Fail("the model's sequence is too short");
        return (byte)((control & ~ModelState.Latch) + ModelState.SequenceOne);
    }

    private static bool Fail(string what) => throw new ModelException(what);

    /// <summary>What is in the index at the end, by key.</summary>
    public Dictionary<char, byte> Published(ModelState s)
    {
        var found = new Dictionary<char, byte>();
        for (int home = 0; home < 2; home++)
        {
            byte control = s.Control(home);
            if ((control & ModelState.Latch) != 0) Fail($"bucket {home} is left latched");
            if (home == 1 && (control & ModelState.Depth) == 0) continue;
            for (int bucket = home, link = ModelState.OverflowOf(control); ;)
            {
                for (int lane = 0; lane < _program.Entries; lane++)
                {
                    byte record = s.Entry(bucket, lane);
                    if (record == 0) continue;
                    char key = _keyOf[record];
                    if (s.Flags(record) != 0) Fail($"{key} has a record that is locked, dead or a placeholder");
                    int expected = (s.Control(0) & ModelState.Depth) != 0 && IsFar(key) ? 1 : 0;
                    if (home != expected) Fail($"{key} is not at home");
                    if (!found.TryAdd(key, s.Low(record))) Fail($"{key} is there twice");
                }

                if (link == 0) break;
                bucket = 1 + link;
                link = s.Link(bucket);
            }
        }

        return found;
    }
}

/// <summary>The model reached a state that must not be.</summary>
internal sealed class ModelException(string what) : Exception(what);
