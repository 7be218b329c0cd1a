using static Kv.Tests.Models.ModelRegisters;

namespace Kv.Tests.Models;

/// <summary>The entries of a home bucket and of the chain behind it: what is found, put and moved there under the
/// latch.</summary>
internal sealed class ModelChains(ModelProgram program, ModelCalls calls, Flaw flaw)
{
    /// <summary>Whether a key is in the far half when there are two.</summary>
    public bool IsFar(char key) => (program.Growing || program.Halving) && char.ToUpperInvariant(key) == 'B';

    /// <summary>Puts records into the buckets that there are and their chains, before anything runs.</summary>
    public void Load(ModelState s, List<byte> all)
    {
        if (!program.Halving)
        {
            LoadBucket(s, 0, all, 0);
            return;
        }

        LoadBucket(s, 0, all.Where(record => !IsFar(calls.KeyOf(record))).ToList(), ModelState.Depth);
        LoadBucket(s, 1, all.Where(record => IsFar(calls.KeyOf(record))).ToList(), ModelState.Depth);
    }

    private void LoadBucket(ModelState s, int bucket, List<byte> records, byte depth)
    {
        byte chain = FillChain(s, records);
        for (int lane = 0; lane < Math.Min(records.Count, program.Entries); lane++)
            s.Entry(bucket, lane) = records[lane];
        s.Control(bucket) = (byte)(depth | chain << ModelState.OverflowShift);
    }

    /// <summary>The record of the key that a thread is at; 0: none.</summary>
    public byte Existing(ModelState s, Span<byte> t)
    {
        for (int bucket = t[HomeAt], link = ModelState.OverflowOf(t[ControlAt]); ;)
        {
            for (int lane = 0; lane < program.Entries; lane++)
                if (s.Entry(bucket, lane) is var entry and not 0 && calls.KeyOf(entry) == calls.KeyOf(t)) return entry;
            if (link == 0) return 0;
            bucket = 1 + link;
            link = s.Link(bucket);
        }
    }

    /// <summary>Finds room for an insert, taking another bucket when the chain has none.</summary>
    public void PrepareInsert(ModelState s, Span<byte> t)
    {
        int bucket = t[HomeAt], link = ModelState.OverflowOf(t[ControlAt]);
        while (true)
        {
            for (int lane = 0; lane < program.Entries; lane++)
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

    /// <summary>Finds the entry of a record.</summary>
    public bool TrySlotOf(ModelState s, Span<byte> t, byte record, out int bucket, out int lane)
    {
        bucket = t[HomeAt];
        for (int link = ModelState.OverflowOf(t[ControlAt]); ;)
        {
            for (lane = 0; lane < program.Entries; lane++)
                if (s.Entry(bucket, lane) == record) return true;
            if (link == 0) return false;
            bucket = 1 + link;
            link = s.Link(bucket);
        }
    }

    /// <summary>Moves an entry of the chain's last bucket up, or takes the bucket off when all have been
    /// moved.</summary>
    /// <remarks>Whenever there is room, which is more often than the code does it.</remarks>
    public void Shorten(ModelState s, Span<byte> t)
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

        var moving = Enumerable.Range(0, program.Entries).Select(lane => s.Entry(last, lane))
            .Where(entry => entry != 0 && !kept.Contains(entry)).ToList();
        if (moving.Count > room.Count)
        {
            t[PcAt] = (byte)Pc.UnlatchRemoved;
        }
        else if (moving.Count > 0)
        {
            s.Entry(room[0].Bucket, room[0].Lane) = moving[0];
            if (flaw == Flaw.MovedUpNotKept)
                for (int lane = 0; lane < program.Entries; lane++)
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
            for (int lane = 0; lane < program.Entries; lane++)
            {
                if (state.Entry(bucket, lane) is var entry and not 0) kept.Add(entry);
                else room.Add((bucket, lane));
            }
        }
    }

    /// <summary>Splits: fills the far bucket, and keeps what is to stay in the near one.</summary>
    public void FillFar(ModelState s, Span<byte> t)
    {
        var all = new List<byte>();
        Gather(s, 0, t[ControlAt], all);
        var near = all.Where(record => !IsFar(calls.KeyOf(record))).ToList();
        var far = all.Where(record => IsFar(calls.KeyOf(record))).ToList();

        t[NearChainAt] = FillChain(s, near);
        t[FarControlAt] = (byte)(ModelState.Depth | FillChain(s, far) << ModelState.OverflowShift);
        for (int lane = 0; lane < program.Entries; lane++)
        {
            s.Entry(1, lane) = lane < far.Count ? far[lane] : (byte)0;
            t[NearAt + lane] = lane < near.Count ? near[lane] : (byte)0;
        }

        t[LaneAt] = 0;
    }

    /// <summary>Merges: what is to come to the near bucket, and its chain.</summary>
    public void GatherBoth(ModelState s, Span<byte> t)
    {
        var all = new List<byte>();
        Gather(s, 0, t[ControlAt], all);
        Gather(s, 1, s.Control(1), all);
        t[NearChainAt] = FillChain(s, all);
        for (int lane = 0; lane < program.Entries; lane++) t[NearAt + lane] = lane < all.Count ? all[lane] : (byte)0;
        t[LaneAt] = 0;
    }

    private void Gather(ModelState s, int bucket, byte control, List<byte> all)
    {
        for (int link = ModelState.OverflowOf(control); ;)
        {
            for (int lane = 0; lane < program.Entries; lane++)
                if (s.Entry(bucket, lane) is var entry and not 0) all.Add(entry);
            if (link == 0) return;
            bucket = 1 + link;
            link = s.Link(bucket);
        }
    }

    /// <summary>What is in the index at the end, by key.</summary>
    public Dictionary<char, byte> Published(ModelState s)
    {
        var found = new Dictionary<char, byte>();
        for (int home = 0; home < 2; home++)
        {
            byte control = s.Control(home);
            if ((control & ModelState.Latch) != 0) throw new ModelException($"bucket {home} is left latched");
            if (home == 1 && (control & ModelState.Depth) == 0) continue;
            for (int bucket = home, link = ModelState.OverflowOf(control); ;)
            {
                for (int lane = 0; lane < program.Entries; lane++)
                {
                    byte record = s.Entry(bucket, lane);
                    if (record == 0) continue;
                    char key = calls.KeyOf(record);
                    if (s.Flags(record) != 0)
                        throw new ModelException($"{key} has a record that is locked, dead or a placeholder");
                    int expected = (s.Control(0) & ModelState.Depth) != 0 && IsFar(key) ? 1 : 0;
                    if (home != expected) throw new ModelException($"{key} is not at home");
                    if (!found.TryAdd(key, s.Low(record))) throw new ModelException($"{key} is there twice");
                }

                if (link == 0) break;
                bucket = 1 + link;
                link = s.Link(bucket);
            }
        }

        return found;
    }

    // Puts what does not fit into the first bucket into chained ones.
    private byte FillChain(ModelState s, List<byte> all)
    {
        byte first = 0, last = 0;
        for (int from = program.Entries; from < all.Count; from += program.Entries)
        {
            byte chain = TakeChain(s);
            if (first == 0) first = chain;
            else s.Link(1 + last) = chain;
            last = chain;
            for (int lane = 0; lane < program.Entries && from + lane < all.Count; lane++)
                s.Entry(1 + chain, lane) = all[from + lane];
        }

        return first;
    }

    // A chain's bucket is used again only after an epoch: never within a run.
    private static byte TakeChain(ModelState s)
    {
        if (s.ChainsTaken == ModelState.Chains) throw new ModelException("the model has too few overflow buckets");
        return ++s.ChainsTaken;
    }
}
