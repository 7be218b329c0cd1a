using static Kv.Tests.Models.ModelRegisters;

namespace Kv.Tests.Models;

/// <summary>Finds the home bucket of a key, and searches the key there or latches the bucket.</summary>
internal sealed class ModelSearch(ModelProgram program, ModelCalls calls, ModelChains chains, Flaw flaw)
{
    /// <summary>Takes a step from <see cref="Pc.FarHome"/> up to <see cref="Pc.Latch"/>.</summary>
    /// <param name="found">The record, 0 for a miss that counts; -1 when the search has not ended.</param>
    /// <returns>False when the thread has to wait.</returns>
    public bool Step(ModelState s, Span<byte> t, out int found)
    {
        found = -1;
        switch ((Pc)t[PcAt])
        {
            case Pc.FarHome:
                t[ControlAt] = s.Control(1);
                if ((t[ControlAt] & ModelState.Depth) == 0) t[PcAt] = (byte)Pc.NearHome;
                else AtHome(s, t, 1);
                return true;
            case Pc.NearHome:
                t[ControlAt] = s.Control(0);
                if ((t[ControlAt] & ModelState.Depth) != 0 && chains.IsFar(calls.KeyOf(t))) t[PcAt] = (byte)Pc.FarHome;
                else AtHome(s, t, 0);
                return true;
            case Pc.Match:
                byte seen = s.Entry(t[BucketAt], t[LaneAt]);
                if (seen != 0 && calls.KeyOf(seen) == calls.KeyOf(t)) t[MaskAt] |= (byte)(1 << t[LaneAt]);
                if (++t[LaneAt] == program.Entries) t[PcAt] = (byte)(t[MaskAt] != 0 ? Pc.Reload : Pc.Next);
                return true;
            case Pc.Reload:
                int lane = System.Numerics.BitOperations.TrailingZeroCount(t[MaskAt]);
                t[MaskAt] &= (byte)(t[MaskAt] - 1);
                byte entry = s.Entry(t[BucketAt], lane);
                if (entry != 0 && calls.KeyOf(entry) == calls.KeyOf(t)) found = entry;
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
                if (flaw == Flaw.MissNotValidated
                    || (now == t[ControlAt] && (!isLatched || flaw == Flaw.MissValidatedUnderLatch)))
                    found = 0;
                else if (now == t[ControlAt]) t[PcAt] = (byte)Pc.Spin;      // latched: until it is not
                else Again(t);
                return true;
            case Pc.Spin:
                if (s.Control(t[HomeAt]) == t[ControlAt]) return false;
                Again(t);
                return true;
            default:
                return StepLatch(s, t);
        }
    }

    /// <summary>Searches the key that the thread is at, or one that is looked up ahead.</summary>
    public void Search(Span<byte> t, char hinted = '\0')
    {
        if (hinted != '\0') t[SearchingAt] = (byte)hinted;
        Seek(t, For.Nothing);
        t[RecordAt] = t[MineAt] = t[LowAt] = t[FlagsAt] = t[VersionAt] = 0;
    }

    /// <summary>Begins the way to the home bucket, where it is to be latched for a purpose, or searched.</summary>
    public void Seek(Span<byte> t, For purpose)
    {
        t[ForAt] = (byte)purpose;
        Again(t);
    }

    /// <summary>Begins that once more, with the newest bucket that the key could be in.</summary>
    public void Again(Span<byte> t)
    {
        t[HomeAt] = t[ControlAt] = t[BucketAt] = t[LaneAt] = t[MaskAt] = t[LinkAt] = t[FreeAt] = t[FreeAt + 1] = 0;
        t[PcAt] = (byte)((For)t[ForAt] != For.Sweep && chains.IsFar(calls.KeyOf(t)) ? Pc.FarHome : Pc.NearHome);
    }

    private void AtHome(ModelState s, Span<byte> t, byte home)
    {
        t[HomeAt] = t[BucketAt] = home;
        t[LinkAt] = (byte)ModelState.OverflowOf(t[ControlAt]);
        t[LaneAt] = t[MaskAt] = 0;
        bool isSplit = (t[ControlAt] & ModelState.Depth) != 0;
        if ((For)t[ForAt] == For.Sweep && isSplit) ModelCalls.Finish(s, t, 0, 0);
        else t[PcAt] = (byte)((For)t[ForAt] == For.Nothing ? Pc.Match : Pc.Latch);
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

        bool free = (For)t[ForAt] == For.Insert && flaw == Flaw.InsertWithoutLatch
            || (For)t[ForAt] == For.Replace && flaw == Flaw.ReplaceWithoutLatch;
        if (!free) s.Control(home) |= ModelState.Latch;
        if (!free && program.Growing && home == 0 && (t[ControlAt] & ModelState.Depth) == 0)
        {
            t[PcAt] = (byte)Pc.FillFar;
            return true;
        }

        t[PcAt] = (byte)((For)t[ForAt] switch
        {
            For.Insert => Pc.Scan,
            For.Replace => Pc.WriteReplaced,
            For.Remove => Pc.WriteRemoved,
            For.Merge => Pc.LatchFar,
            _ => Pc.UnlatchReplaced,
        });
        return true;
    }
}
